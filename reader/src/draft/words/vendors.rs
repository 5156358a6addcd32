//! Words that tell the name of a shop from other lines at the top of a paper. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What a line at the top of a paper is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum Head {
    /// Ends the name of a company.
    Company,
    /// Names a label, a greeting, a sort of paper: no name of a shop.
    Paper,
    /// Part of an address.
    Address,
    /// Names the one who buys.
    Buyer,
    /// Names the one who sells.
    Seller,
}

/// The words of all languages.
pub(in crate::draft) static HEADS: LazyLock<Phrases<Head>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Head, &str)] = &[
    (
        Head::Company,
        "sdn bhd|s b|sbn bhd|sdn bhb|sdn|bhd|gmbh|gmbh co kg|mbh|ag|kg|ohg|ug|ek|e k|gbr|ltd|limited|plc|inc|incorporated|llc|llp|corp|corporation|co ltd|pte ltd|sarl|sas|sa rl|eurl\
        |sa|s a|sl|s l|slu|sau|bv|b v|nv|n v|vof|srl|s r l|spa|s p a|snc|sas di|enterprise|trading|restaurant|restoran|supermarket|supermarkt|hypermarket|pharmacy|farmacia|apotheke\
        |pharmacie|apotheek|tankstelle|baumarkt|hotel|cafe|bakery|backerei|boulangerie|ristorante|restaurante|store|stores|shop|mart|market|markt|marche|hardware|stationery|bookstore|company",
    ),
    (
        Head::Paper,
        "invoice|receipt|tax invoice|simplified tax invoice|cash bill|cash sale|cash sales|bill|welcome|welcome to|thank you|customer copy|merchant copy|copy|duplicate|reprint|original|order|guest check|table|date|time\
        |rechnung|quittung|kassenbon|kassenbeleg|beleg|bon|kundenbeleg|lieferschein|willkommen|vielen dank|garantie|garantieschein|vertrag\
        |facture|ticket|ticket de caisse|recu|bienvenue|merci|duplicata|factura|factura simplificada|ticket de compra|recibo|bienvenidos|gracias\
        |factuur|kassabon|bon nr|welkom|bedankt|fattura|scontrino|scontrino fiscale|ricevuta|documento commerciale|benvenuti|grazie\
        |warranty|warranty card|certificate|contract|agreement|policy|tel|telephone|phone|fax|email|e mail|www|http|https|gst|gst no|gst reg|gst id|vat|reg no|company no|co reg|roc no|ssm|cashier|member|member id|counter|terminal|description|item|qty|amount|document no|operator|served by",
    ),
    (
        Head::Address,
        "jalan|jln|lot|no|taman|street|st|road|rd|avenue|ave|lane|drive|floor|level|block|blk|suite|unit|batu|kg|kampung|kuala lumpur|selangor|johor|penang\
        |strasse|str|allee|platz|weg|rue|boulevard|bd|place|calle|avda|avenida|plaza|straat|laan|plein|via|viale|piazza|corso|p o box|postfach|postcode|zip",
    ),
    (
        Head::Buyer,
        "bill to|sold to|ship to|customer|customer name|client|attn|deliver to|invoice to|buyer|kunde|kundennummer|rechnungsempfanger|lieferanschrift|rechnungsadresse|empfanger|herr|herrn|frau\
        |facture a|adresse de facturation|adresse de livraison|acheteur|cliente|datos del cliente|comprador|klant|factuuradres|afleveradres|koper|destinatario|acquirente|spett le|spettabile",
    ),
    (
        Head::Seller,
        "sold by|seller|vendor|merchant|dealer|retailer|store|verkaufer|verkauft von|handler|fachhandler|lieferant|vendu par|vendeur|revendeur|magasin|vendido por|vendedor|distribuidor|tienda|verkocht door|verkoper|winkel\
        |venduto da|venditore|rivenditore|negozio|insurer|versicherer|assureur|aseguradora|verzekeraar|assicuratore|issued by|ausgestellt von|dealer name|purchased from|purchased at|gekauft bei|achete chez|comprado en",
    ),
];
