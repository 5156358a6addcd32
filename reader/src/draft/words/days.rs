//! The labels of dates on papers. Must not know dates.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What the words beside a date say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum Day {
    /// The day of the purchase or of the paper.
    Issued,
    /// The last day on which something holds.
    Until,
    /// Another day: of birth, of delivery, of payment, of a contract's start.
    Other,
}

/// The labels of all languages.
pub(in crate::draft) static DAYS: LazyLock<Phrases<Day>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Day, &str)] = &[
    (
        Day::Issued,
        "date|dated|date time|invoice date|inv date|bill date|receipt date|trans date|transaction date|tran date|purchase date|date of purchase|order date\
        |sales date|sale date|issue date|date of issue|issued|issued on|date of invoice|tax invoice date|doc date|document date|print date|printed on|purchased on|ordered on\
        |datum|rechnungsdatum|kaufdatum|belegdatum|bestelldatum|ausstellungsdatum|ausgestellt am|datum der rechnung|kauf vom|rechnung vom|quittung vom|vom\
        |date de facture|date facture|date d achat|date d emission|emis le|le|fait le|date de commande|facture du|du\
        |fecha|fecha de factura|fecha factura|fecha de compra|fecha de emision|fecha emision|fecha de expedicion\
        |factuurdatum|aankoopdatum|besteldatum|bondatum|afgiftedatum|data|data fattura|data documento|data di acquisto|data acquisto|data emissione|del|emesso il|tarikh|daie|dato",
    ),
    (
        Day::Until,
        "until|valid until|valid till|valid to|valid thru|valid through|good until|guaranteed until|warranty until|warranty ends|warranty expires|warranty expiry\
        |expires|expires on|expiry|expiry date|expiration|expiration date|exp date|expire|expired|end date|end of warranty|ends on|policy expires|coverage ends|renewal date|to date|not valid after|best before\
        |gultig bis|gueltig bis|garantie bis|gewahrleistung bis|garantieende|ablaufdatum|lauft ab|vertragsende|laufzeit bis|versichert bis|versicherungsende|hauptfalligkeit|befristet bis|mindestens haltbar bis\
        |valable jusqu au|valable jusqu|jusqu au|garantie jusqu au|garanti jusqu au|date d expiration|expire le|fin de garantie|echeance du contrat|fin de validite|date de fin\
        |valido hasta|valida hasta|hasta|garantia hasta|vence|vence el|fecha de vencimiento|fecha de caducidad|caduca|caduca el|fin de garantia|vencimiento|vigencia hasta\
        |geldig tot|geldig tot en met|garantie tot|vervaldatum|verloopt|verloopt op|einddatum|einde garantie|tot en met\
        |valido fino al|valida fino al|fino al|garanzia fino al|scade|scade il|scadenza|data di scadenza|fine garanzia",
    ),
    (
        Day::Other,
        "due date|payment due|payment due date|due on|delivery date|date of delivery|delivered|shipping date|ship date|date of birth|birth date|dob|birthday|start date|from date|member since|gst since|effective|effective from|valid from|joined|since\
        |promotion|contest|period|returned within|check in|check out|arrival|departure|manufactured|mfg date|production date|first registration|date of first registration\
        |lieferdatum|liefertermin|leistungsdatum|fallig|fallig am|zahlbar bis|zahlungsziel|geburtsdatum|geburtstag|geb|beginn|vertragsbeginn|gultig ab|gultig von|herstellungsdatum|erstzulassung|tag der erstzulassung|naechste|nachste\
        |date de livraison|livre le|date de naissance|ne le|nee le|date d echeance|echeance|date de paiement|date de debut|a partir du|date de 1re immatriculation|premiere immatriculation\
        |fecha de entrega|fecha de nacimiento|fecha de pago|fecha de inicio|desde|primera matriculacion|fecha de matriculacion|valido desde\
        |leverdatum|bezorgdatum|geboortedatum|betaaldatum|uiterste betaaldatum|ingangsdatum|vanaf|eerste toelating|datum eerste toelating\
        |data di consegna|data consegna|data di nascita|nato il|data pagamento|scadenza pagamento|decorrenza|dal|a partire dal|prima immatricolazione|data di prima immatricolazione",
    ),
];
