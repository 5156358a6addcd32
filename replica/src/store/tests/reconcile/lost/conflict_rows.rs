//! The rows of `conflicts` for lost edits.

use super::*;

#[test]
fn offered_edit_shows_normalized_values() {
    let mut scene = Scene::new();
    let car = |id, price: &str| {
        event(id, "updated", "vehicle", CAR, json!({ "name": "Car", "color": "red", "purchase_price": price }))
    };
    scene.hear(car(5, "7.00"));
    scene.does("UPDATE vehicles SET color = 'blue', purchase_price = '7.5'");
    scene.accept(1, 6);
    scene.hear(event(
        6,
        "updated",
        "vehicle",
        CAR,
        json!({ "name": "Car", "color": "blue", "purchase_price": "7.50" }),
    ));
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.recovers(&restored(Some(5)));
    // The new history has made the same change of the price, and a car of another color.
    let now = json!({ "name": "Car", "color": "green", "purchase_price": "7.50" });
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 6, now)], 6);
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["color"]));
}

#[test]
fn offered_edit_is_not_shown_as_deleted() {
    let mut scene = Scene::present([room(4, "Shed"), task(5, "Paint", "low")]);
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.does("DELETE FROM rooms");
    scene.does("UPDATE tasks SET priority = 'high'");
    let heard = [car(6), event(7, "deleted", "room", ROOM, Value::Null), task(8, "Paint", "high")];
    for (edit, event) in (1..).zip(heard) {
        scene.confirm(edit, event);
    }
    scene.recovers(&restored(Some(5)));
    assert_eq!(scene.states(), "conflict conflict conflict");
    let conflicts = "SELECT edit_id, field, theirs FROM conflicts";
    assert_eq!(scene.rows(conflicts), json!([]), "nobody has deleted anything, and nothing is known to differ");
    scene.is_listed(Kind::Room, vec![record(ROOM, 6, json!({ "name": "Barn" }))], 6);
    assert_eq!(scene.rows(conflicts), json!([[2, "name", "Barn"]]), "what the new history has changed is shown");
}
