//! The labels of dates on papers. Must not know dates.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What the words beside a date say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum Day {
    /// The day of the purchase or of the paper.
    Issued,
    /// The day of an order. It counts where no other day is named.
    Ordered,
    /// The first day on which something holds.
    Start,
    /// The last day on which something holds.
    Until,
    /// Another day: of birth, of delivery, of payment.
    Other,
}

/// The labels of all languages.
pub(in crate::draft) static DAYS: LazyLock<Phrases<Day>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Day, &str)] = &[
    (
        Day::Issued,
        "date|dated|date time|invoice date|inv date|bill date|receipt date|trans date|transaction date|tran date|purchase date|date of purchase\
        |sales date|sale date|issue date|date of issue|issued|issued on|date of invoice|tax invoice date|doc date|document date|print date|printed on|purchased on\
        |datum|rechnungsdatum|kaufdatum|belegdatum|ausstellungsdatum|ausgestellt am|datum der rechnung|kauf vom|rechnung vom|erstellt am|rechnung erstellt am|mahndatum|reparaturdatum|angebotsdatum|credit note date|repair date|date of repair|quittung vom|vom\
        |date de facture|date facture|date d achat|date d emission|emis le|le|fait le|facture du|du\
        |fecha|fecha de factura|fecha factura|fecha de compra|fecha de emision|fecha emision|fecha de expedicion\
        |factuurdatum|aankoopdatum|bondatum|afgiftedatum|data|data fattura|data documento|data di acquisto|data acquisto|data emissione|del|emesso il|tarikh|daie|dato",
    ),
    (
        Day::Ordered,
        "order date|ordered on|order placed|your order|bestelldatum|bestellt am|bestellung vom|ihre bestellung|auftrag vom|ihr auftrag|auftragsdatum|date de commande|commande du|fecha de pedido|fecha del pedido|besteldatum|data ordine|data dell ordine",
    ),
    (
        Day::Start,
        "start date|from date|effective|effective from|valid from|start of contract|commencement|beginn|vertragsbeginn|versicherungsbeginn|mietbeginn|gultig ab|gultig von|laufzeit ab|inbetriebnahme|inbetriebnahme am|date of installation|installed on|date de debut|date d effet|prise d effet|a partir du\
        |fecha de inicio|fecha de efecto|desde|valido desde|ingangsdatum|vanaf|startdatum|decorrenza|dal|a partire dal|data di inizio",
    ),
    (
        Day::Until,
        "until|valid until|valid till|valid to|valid thru|valid through|good until|guaranteed until|warranty until|warranty ends|warranty expires|warranty expiry\
        |expires|expires on|expiry|expiry date|expiration|expiration date|exp date|expire|expired|end date|end of warranty|ends on|policy expires|coverage ends|renewal date|to date|not valid after|best before\
        |gultig bis|gueltig bis|garantie bis|gewahrleistung bis|garantieende|ablaufdatum|lauft ab|lauft bis|vertrag lauft bis|mindestlaufzeit bis|ablauf|versicherungsablauf|vertragsende|laufzeit bis|versichert bis|versicherungsende|hauptfalligkeit|befristet bis|mindestens haltbar bis\
        |valable jusqu au|valable jusqu|jusqu au|garantie jusqu au|garanti jusqu au|date d expiration|expire le|fin de garantie|echeance du contrat|fin de validite|date de fin\
        |valido hasta|valida hasta|hasta|garantia hasta|vence|vence el|fecha de vencimiento|fecha de caducidad|caduca|caduca el|fin de garantia|vencimiento|vigencia hasta\
        |geldig tot|geldig tot en met|garantie tot|vervaldatum|verloopt|verloopt op|einddatum|einde garantie|tot en met\
        |valido fino al|valida fino al|fino al|garanzia fino al|scade|scade il|scadenza|data di scadenza|fine garanzia",
    ),
    (
        Day::Other,
        "due date|payment due|payment due date|due on|delivery date|date of delivery|delivered|shipping date|ship date|date of birth|birth date|dob|birthday|member since|gst since|joined|since\
        |promotion|contest|period|returned within|check in|check out|arrival|departure|manufactured|mfg date|production date|first registration|date of first registration\
        |kundbar bis|kundigung bis|einfahrt|ausfahrt|anreise|abreise|herstelldatum|fallig bis|lieferdatum|liefertermin|leistungsdatum|fallig|fallig am|zahlbar bis|zahlungsziel|geburtsdatum|geburtstag|geb|herstellungsdatum|erstzulassung|tag der erstzulassung|naechste|nachste\
        |date de livraison|livre le|date de naissance|ne le|nee le|date d echeance|echeance|date de paiement|date de 1re immatriculation|premiere immatriculation\
        |fecha de entrega|fecha de nacimiento|fecha de pago|primera matriculacion|fecha de matriculacion\
        |leverdatum|bezorgdatum|geboortedatum|betaaldatum|uiterste betaaldatum|eerste toelating|datum eerste toelating\
        |data di consegna|data consegna|data di nascita|nato il|data pagamento|scadenza pagamento|prima immatricolazione|data di prima immatricolazione",
    ),
];
