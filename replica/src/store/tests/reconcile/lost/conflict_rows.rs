//! The rows of `conflicts` for lost edits.

use super::*;

#[test]
fn offered_edit_shows_normalized_values() {
    let car = |color: &str, price: &str| json!({ "name": "Car", "color": color, "purchase_price": price });
    let mut scene = Scene::with(event(5, "updated", "vehicle", CAR, car("red", "7.00")));
    scene.does("UPDATE vehicles SET color = 'blue', purchase_price = '7.5'");
    scene.confirm(1, event(6, "updated", "vehicle", CAR, car("blue", "7.50")));
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.recovers(&restored(Some(5)));
    // The new history has made the same change of the price, and a car of another color.
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 6, car("green", "7.50"))], 6);
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["color"]));
}

#[test]
fn offered_edit_is_not_shown_as_deleted() {
    let mut scene = Scene::present([room(4, "Shed"), task(5, "Paint", "low")]);
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car'); DELETE FROM rooms"));
    scene.does("UPDATE tasks SET priority = 'high'");
    for (edit, event) in (1..).zip([car(6), gone(7, "room", ROOM), task(8, "Paint", "high")]) {
        scene.confirm(edit, event);
    }
    scene.recovers(&restored(Some(5)));
    assert_eq!(scene.states(), "conflict conflict conflict");
    let conflicts = "SELECT edit_id, field, theirs FROM conflicts";
    assert_eq!(scene.rows(conflicts), json!([]), "nobody has deleted anything, and nothing is known to differ");
    scene.is_listed(Kind::Room, vec![listed_room(6, "Barn")], 6);
    assert_eq!(scene.rows(conflicts), json!([[2, "name", "Barn"]]), "what the new history has changed is shown");
}
