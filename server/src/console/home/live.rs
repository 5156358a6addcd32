//! The live home of a signed-in person, and what its pages must know of it: the day, the time zone, the currency. Must not know
//! pages.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_contract::record::Record;
use hearth_contract::recurrence::TIME_ZONE;
use hearth_contract::schema::Kind;
use hearth_contract::time_zone;
use hearth_contract::units::{AreaUnit, UNIT_SYSTEM, Units};
use serde_json::Value;
use time::Date;
use uuid::Uuid;

use crate::http::web::WebRequest;
use crate::store::sessions::Session;
use crate::store::{HomeNumber, StoreError, Tx, homes, records};

/// A live home in a read transaction.
pub(super) struct Live {
    /// The home in all tables.
    pub(super) number: HomeNumber,
    /// The id of the home, for cursors.
    pub(super) id: Uuid,
    /// The day of the request in the home's time zone.
    pub(super) today: Date,
    /// The time zone of the home. None: UTC.
    pub(super) zone: Option<String>,
    /// The code of the home's currency. None: the profile names no currency.
    pub(super) currency: Option<String>,
    /// The unit of areas.
    pub(super) area: AreaUnit,
}

impl Live {
    /// The live home of a team at a moment.
    pub(super) fn load(tx: &Tx<'_>, team: &str, now: Timestamp) -> Result<Live, StoreError> {
        let home = homes::home_of_team(tx, team, Environment::Live)?;
        let profile = find(tx, home.number, Kind::Property, home.id)?;
        let text = |name: &str| {
            let fields = profile.as_ref().map(|profile| &profile.fields);
            fields.and_then(|fields| fields.get(name)?.as_str()).map(str::to_owned)
        };
        let zone = text(TIME_ZONE);
        Ok(Live {
            number: home.number,
            id: home.id,
            today: time_zone::day(zone.as_deref(), now),
            zone,
            currency: text("currency"),
            area: Units::new(None, text(UNIT_SYSTEM).as_deref()).area,
        })
    }
}

/// Reads from the live home of the person, in one transaction.
pub(super) async fn read<T: Send + 'static>(
    request: &WebRequest,
    session: &Session,
    job: impl FnOnce(&Tx<'_>, &Live) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (team, now) = (session.team.clone(), request.app.clock.now());
    request.app.db.read(move |tx| job(tx, &Live::load(tx, &team, now)?)).await
}

/// A record of the home. None: no record of this kind has the id.
pub(super) fn find(tx: &Tx<'_>, home: HomeNumber, kind: Kind, id: Uuid) -> Result<Option<Record>, StoreError> {
    records::image(tx, home, kind, id)?.map(|image| parse(kind, &image.json)).transpose()
}

/// The record in a stored JSON text.
pub(super) fn parse(kind: Kind, json: &str) -> Result<Record, StoreError> {
    Record::from_json(kind, json).ok_or_else(|| StoreError::Corrupt(format!("image of a {kind} that is shown")))
}

/// The text of a field; "" when the field is null or absent.
pub(super) fn text<'r>(record: &'r Record, name: &str) -> &'r str {
    record.fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
