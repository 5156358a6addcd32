//! The labels of sums on receipts and invoices. Must not know numbers.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What the words beside a sum say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::draft) enum Money {
    /// The sum to pay.
    Total,
    /// The sum to pay in words that no other sum has, such as "amount due".
    Due,
    /// The sum to pay after rounding to coins.
    Rounded,
    /// The sum to pay or a tax inside of it, such as "total incl. GST": the size of the sum tells.
    Unclear,
    /// The sum of the positions.
    Subtotal,
    /// The sum without taxes.
    Net,
    /// A tax.
    Tax,
    /// What was handed over.
    Paid,
    /// What was given back.
    Change,
    /// What rounding adds.
    Rounding,
    /// What is taken off.
    Discount,
    /// What service, a tip, a deposit or delivery adds.
    Extra,
    /// Says that taxes are inside.
    WithTax,
    /// Says that taxes are not inside.
    WithoutTax,
    /// A count, points, savings or another number that is no sum to pay.
    Other,
    /// Heads a table of taxes.
    TaxTable,
}

/// The labels of all languages.
pub(in crate::draft) static MONEY: LazyLock<Phrases<Money>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Money, &str)] = &[
    (
        Money::Total,
        "total|totai|tota|totl|betrag|betrag eur|endpreis|ukupno|total amount|total amt|total rm|total sales|total sale|total price|totals|summe|gesamt|gesamtsumme|gesamtbetrag\
        |endbetrag|endsumme|rechnungsbetrag|total ttc|total eur|montant total|montant|importe|importe total|total importe|totaal\
        |totaalbedrag|totaal bedrag|eindtotaal|totale|totale complessivo|totale euro|importo|importo totale|bruttobetrag|bruttosumme\
        |warenwert|kaufbetrag|kaufpreis|purchase price|prix de vente|prix d achat|precio de venta|precio de compra|koopprijs|koopsom|prezzo di vendita|prezzo di acquisto|invoice total|order total|bill total|invoice amount|bill amount|bill amt|total bill|total invoice",
    ),
    (
        Money::Due,
        "grand total|due|amount to be paid|total to be paid|to be paid|amount due|balance due|total due|net total|nett total|netttotal|nett amount|nett amt|net amount due|net payable\
        |nett payable|total payable|payable amount|amount payable|amount to pay|to pay|total to pay|please pay|total amount payable\
        |total nett|total net amount|zu zahlen|zu zahlender betrag|zahlbetrag|zahlungsbetrag|gesamt brutto|net a payer|a payer|total a payer\
        |montant du|montant a payer|reste a payer|total a pagar|a pagar|te betalen|totaal te betalen|te voldoen|da pagare|totale da pagare\
        |total general|total factura|totale fattura|factuurbedrag|total charge|total charged|final total|total purchase|sales total\
        |amount charged|total payment|total facture",
    ),
    (
        Money::Unclear,
        "ttc|montant ttc|prix ttc|total gst incl|total gst included|total gst inclusive|total tax incl|total tax included|total incl gst|total including gst|total inclusive of gst|total inclusive gst|total inc gst|total included gst\
        |total includes gst|total incl tax|total with gst|total incl vat|total vat incl|total vat included|total amount incl gst|total amount with gst|total iva incl|total iva incluido|total iva inclusa|totale iva inclusa|totaal incl btw\
        |total amt incl gst|total sales inclusive gst|total sales inclusive of gst|total sales incl gst|total sales inc gst|total sst incl|total incl sst|amount incl gst|summe inkl mwst|gesamt inkl mwst|total with tax",
    ),
    (
        Money::Rounded,
        "rounded total|rounding total|total rounded|total after rounding|total after rounding adj|total after rounding adjustment\
        |after rounding|ttl atf rnd|total round|round total|rounded amount|rounded|round d total|rounded tota|gerundet|total arrondi|totaal afgerond|afgerond|net total rounded\
        |total amount rounded|total incl rounding",
    ),
    (
        Money::Subtotal,
        "subtotal|sub total|subtotai|sub totai|sub tot|subttl|sub ttl|zwischensumme|zw summe|sous total|soustotal|s total|subtotaal|sub totaal\
        |subtotale|suma|base total|item total|items total|total before discount|gross total|gross amount|total gross|gross amt",
    ),
    (
        Money::Net,
        "net amount|net amt|netto|nettobetrag|netto betrag|nettosumme|total ht|montant ht|ht|base imponible|base imp|imponibile|excl btw|totaal excl btw\
        |taxable amount|taxable|amount before tax|total before tax|total before gst|total w o gst|total wo gst|amount excl|total excl|total ex\
        |total exclude gst|total without gst|warenwert netto|net sales|net price|gst excl|total excluding gst|total excl gst|total exclusive of gst\
        |total sales excluding gst|total sales excluding gst|amount exclude gst|grundlag",
    ),
    (
        Money::Tax,
        "tax|gst|vat|sst|hst|pst|mwst|mehrwertsteuer|ust|umsatzsteuer|steuer|steuerbetrag|tva|iva|btw|imposta|impuesto|impuestos|taxe|taxes|sales tax\
        |service tax|total tax|total gst|gst amount|gst amt|tax amount|tax amt|tax payable|gst payable|vat amount|moms|igic|tax total|gst total|enthaltene mwst\
        |add gst|total gst amount|cuota|di cui iva|whereof vat|dont tva|dph|ptu",
    ),
    (
        Money::Paid,
        "cash|pay|edc|accepted total|accepted|amt paid|amt tendered|bankcard|bank card|eftpos|tng|cash paid|cash tendered|cash received|cash payment|tendered|tender|amount tendered|amount paid|total paid|total amount paid\
        |paid amount|paid|payment|payment received|received|amount received|visa|visa card|mastercard|master card|master|amex|credit card|debit card\
        |credit|debit|card|maestro|girocard|ec cash|ec karte|kartenzahlung|karte|kreditkarte|bar|bargeld|barzahlung|gegeben|gegeben bar\
        |bar gegeben|erhalten|bezahlt|especes|espece|carte|carte bancaire|carte bleue|cb|cheque|regle|recu|paiement|efectivo|entregado|tarjeta\
        |pagado|contant|pin|pinnen|betaald|betaling|ontvangen|bancontact|contanti|contante|pagamento contante|pagamento elettronico|pagamento|pagato|carta|bancomat\
        |importo pagato|apple pay|google pay|paypal|e wallet|ewallet|touch n go|boost|grabpay|gift card|voucher|gutschein|bon cadeau\
        |bezahlung|zahlung|vorauszahlung|mybank|zap|cash rm|cash myr|cas h|chq|ticket restaurant|cash amount|money received|payment amount",
    ),
    (
        Money::Change,
        "change|change due|cash change|change amount|your change|changes|changed|chg|balance returned|ruckgeld|rueckgeld|zuruck|wechselgeld|rendu|rendu monnaie|a rendre|rendu especes|vuelto efectivo\
        |monnaie|monnaie rendue|cambio|su cambio|devuelto|vuelta|vuelto|wisselgeld|terug|resto|chenge|chang|change rm|baki",
    ),
    (
        Money::Rounding,
        "rounding|rounding adj|rounding adjustment|rounding adjustments|rounding amount|round adj|round adjustment|rounding adjust|rnd adj|rnd\
        |round off|roundoff|rounding off|rundung|rundungsdifferenz|arrondi|redondeo|afronding|arrotondamento|bill rounding|rour ding adjustment\
        |roundingadj|round amt|rounding mechanism|rounding diff|adj|adjustment|total rounding|total rounding adj|total rounding adjustment",
    ),
    (
        Money::Discount,
        "discount|disc|total discount|less discount|bill discount|item discount|member discount|rebate|rabatt|nachlass|preisvorteil|skonto|remise|reduction|descuento|dto|korting\
        |sconto|coupon|less|bon de reduction|promo|promotion|avantage|aktion|total disc|disc amount|disc amt|voucher discount|abzug",
    ),
    (
        Money::Extra,
        "service charge|svc charge|serv charge|svr chg|service chg|service|tip|gratuity|trinkgeld|pourboire|propina|fooi|mancia|servizio|servicio|coperto\
        |delivery|delivery fee|shipping|versand|versandkosten|lieferung|livraison|frais de port|envio|verzendkosten|bezorgkosten|spedizione\
        |deposit|pfand|consigne|statiegeld|postage|serv chrg|ser charge|s charge|sc|sercharge",
    ),
    (
        Money::WithTax,
        "incl|include|included|includes|including|inclusive|inclusive of|inc|with gst|with tax|gst incl|tax incl|inkl|toutes taxes|iva incl|iva inclusa\
        |iva incluido|iva compresa|btw incl|mwst incl|brutto|after tax|after gst|incl gst|incl vat|inc gst|inclusive of gst|inclusive gst|incl gst\
        |including gst|gst inclusive|gst included|incl tax|tax inclusive|inkl mwst|incl btw|inclusive of all taxes|incl sst",
    ),
    (
        Money::WithoutTax,
        "excl|exclude|excluded|excluding|exclusive|exclusive of|before tax|before gst|without|without tax|exkl|zzgl|hors taxe|hors taxes|sin iva|esclusa|exc|excl gst|exc gst\
        |excluding gst|exclusive of gst|excl tax|excl vat|exclude gst|excludes",
    ),
    (
        Money::Other,
        "qty|quantity|total qty|total quantity|items|item s|total item|total items|total item s|no of item|no of items|number of items|item count|total no|total pcs|pieces|total piece\
        |artikel|anzahl|articles|nombre|articulos|artikelen|aantal|pezzi|articoli|points|total points|punkte|pluspunkte|punti|punten|puntos|saved|you saved\
        |total saved|savings|total savings|total saving|ersparnis|gespart|economies|ahorro|bespaard|risparmio|balance points|cashier|cash bill|cash sales|cash sale|cash memo|cash register|cash invoice\
        |tax invoice|taxinvoice|tax invoice no|tax id|gst reg|gst reg no|gst no|gst id|gst id no|gst registration|gst summary|sst id|sst no|vat no|vat number|vat reg|vat reg no\
        |ust id|ust id nr|ust idnr|ustid|steuernummer|steuer nr|steuernr|st nr|umsatzsteuer id|tva intra|no tva|n tva|tva fr|iva n|cif|nif|p iva|partita iva|partita iva n|btw nr|btw nummer|card no|card number|card type|kartennummer|karten nr|kartennr|kartentyp|folgenr\
        |credit note|debit note|credit terms|credit term|payment terms|payment term|payment details|payment mode|payment method|payment type|paid by|pin verified|pin ok|change your mind|exchange\
        |zahlungsziel|zahlung bis|zahlungsart|zahlungsweise|payment due|payment due date|due date|iban|bic|konto|account no|approval|approval code|terminal|barcode|unit price|price|prix unitaire|precio|stuckpreis|einzelpreis\
        |bonus|guthaben|balance|previous balance|kontostand|saldo|loyalty|treuepunkte|total weight|total volume|total ltr|total litres|pump|last balance|new balance|received by|received goods|goods received|ordered by|card member|pay parking|pay parking ticket|member card|membership|card holder|cash counter|service hotline|customer service|service center|service centre\
        |total outstanding|outstanding|cash drawer|delivery date|delivery no|delivery order|deliver to|delivery address|shipping address|versandart|lieferdatum|liefertermin|lieferadresse|discount card|total tender count",
    ),
    (
        Money::TaxTable,
        "gst summary|gst analysis|tax summary|vat summary|gst rate|tax rate|tax code|vat rate|steuersatz|mwst satz|taux|tipo iva|aliquota|gst tax summary|summary of gst|btw tarief|gst code|vat analysis",
    ),
];
