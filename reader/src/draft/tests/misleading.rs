//! Papers on which a value looks like another: dates, sums, prices, names and terms that a person tells apart.

use serde_json::json;

use super::{draft, draft_of, field, file, sure};
use crate::draft::{Draft, Known, smart_add};
use crate::reading::{Area, Code, CodeFormat, Invoice};

/// The draft of one kind. None: there is no such draft.
fn draft_if_any(text: &str, kind: &str) -> Option<Draft> {
    smart_add(&[file("file", text)], &Known::default()).into_iter().find(|draft| draft.kind == kind)
}

#[test]
fn text_alone_makes_no_date_certain() {
    for (text, day, how) in [
        (
            "Möbelhaus Finke GmbH\nRechnung 8812\nBestellung vom 01.02.2026\nIhre Bestellung 4711 01.02.2026\nRechnungsdatum 20.03.2026\n\
             Tisch  300,00\nSumme  300,00 EUR",
            "2026-03-20",
            "likely",
        ),
        (
            "Parkhaus am Ring GmbH\nEinfahrt 03.05.2026 10:02\nAusfahrt 03.05.2026 14:11\nRechnung erstellt am 07.05.2026\n\
             Gesamtbetrag 8,00 EUR",
            "2026-05-07",
            "likely",
        ),
        (
            "Reparaturservice Otto\nKauf 01.06.2023\nGarantie bis 01.06.2025 (Kauf 01.06.2023)\n\
             Reparaturdatum 15.09.2025\nPauschale 89,00\nSumme 89,00\nBar 100,00\nRückgeld 11,00",
            "2025-09-15",
            "likely",
        ),
        (
            "Mahnung\nEnergie Süd GmbH\nMahndatum 10.03.2026\nRechnung vom 05.01.2026 über 150,00 EUR\nGesamtforderung 155,00 EUR",
            "2026-03-10",
            "likely",
        ),
    ] {
        let draft = draft(text, "document");
        assert_eq!((field(&draft, "issued_on"), sure(&draft, "issued_on")), (day, how), "{text}");
    }
}

#[test]
fn credit_note_is_refund() {
    for text in [
        "CREDIT NOTE\nAjax Tools Ltd\nCredit note date: 3 April 2026\nDrill  100.00\nVAT 20%  20.00\nTotal  120.00",
        "STORNORECHNUNG\nElektro Sommer KG\nDatum: 18.03.2026\nKaffeemaschine  100,84\nMwSt 19%  19,16\nGesamtbetrag  120,00 EUR",
        "AVOIR N° 12\nDarty SAS\nDate : 3 avril 2026\nPerceuse  120,00\nTotal TTC  120,00",
    ] {
        let document = draft(text, "document");
        assert_eq!((field(&document, "amount"), field(&document, "notes")), ("-", "Refund of 120.00."), "{text}");
        let price = draft_if_any(text, "inventory").map(|item| field(&item, "purchase_price").to_owned());
        assert!(price.is_none_or(|price| price == "-"), "{text}");
    }
}

#[test]
fn electronic_credit_note_is_refund() {
    let invoice = Invoice {
        issued_on: Some("2026-03-17".to_owned()),
        total: Some("119.00".to_owned()),
        is_credit: true,
        ..Invoice::default()
    };
    let mut paper = file("file", "Gutschrift RE-2026-0815\nSumme 119,00");
    paper.reading.invoice = Some(invoice);
    let drafts = smart_add(&[paper], &Known::default());
    let document = drafts.iter().find(|draft| draft.kind == "document").expect("a document");
    assert_eq!((field(document, "amount"), field(document, "notes")), ("-", "Refund of 119.00."));
    for item in drafts.iter().filter(|draft| draft.kind == "inventory") {
        assert_eq!((field(item, "purchase_price"), field(item, "purchase_date")), ("-", "-"));
    }
}

#[test]
fn price_of_several_pieces_is_price_of_one() {
    let text =
        "Lampenwelt GmbH\n20.01.2026\n2 x Tischlampe      40,00\nSumme               40,00\nEC-Karte            40,00";
    let item = draft(text, "inventory");
    assert_eq!((field(&item, "purchase_price"), sure(&item, "purchase_price")), ("20.00", "guess"));
    assert!(item.evidence["purchase_price"].rivals.contains(&json!("40.00")));
}

#[test]
fn net_price_of_several_pieces_is_price_of_one() {
    let text = "Lampenwelt GmbH\n20.01.2026\n2 x Tischlampe  40,00\nNetto  40,00\nMwSt 19%  7,60\nGesamt  47,60";
    let item = draft(text, "inventory");
    assert_eq!((field(&item, "purchase_price"), sure(&item, "purchase_price")), ("20.00", "guess"));
}

#[test]
fn refund_names_a_foreign_currency() {
    let known = Known { currency: Some("EUR".to_owned()), ..Known::default() };
    let mut papers = [
        file("file", "CREDIT NOTE\nAjax Tools Ltd\n3 April 2026\nTotal USD 120.00"),
        file("file", "Credit note\nTotal 120.00"),
    ];
    papers[1].reading.invoice = Some(Invoice {
        total: Some("120.00".into()),
        currency: Some("USD".into()),
        is_credit: true,
        ..Invoice::default()
    });
    for paper in papers {
        let drafts = smart_add(&[paper], &known);
        let document = drafts.iter().find(|draft| draft.kind == "document").expect("a document");
        assert_eq!((field(document, "notes"), field(document, "amount")), ("Refund of 120.00 USD.", "-"));
    }
}

#[test]
fn bill_code_of_a_credit_note_is_refund() {
    let mut paper = file("file", "Nota de crédito\nLoja Lda\nTotal  123,00");
    let text = "A:500000000*B:999999990*C:PT*D:NC*E:N*F:20260403*G:NC 1/1*H:0*I1:PT*I7:100.00*I8:23.00*N:23.00*O:123.00*Q:abcd*R:1";
    paper.reading.codes.push(Code {
        format: CodeFormat::Qr,
        text: text.to_owned(),
        page: 0,
        area: Area::default(),
        proved: true,
    });
    let document = draft_of(paper, "document");
    assert_eq!((field(&document, "notes"), field(&document, "amount")), ("Refund of 123.00.", "-"));
}

#[test]
fn reference_to_an_offer_leaves_an_invoice() {
    let text = "Malerbetrieb Krüger GmbH\nAngebot Nr. A-3312\nRechnung Nr. 88\nDatum 03.03.2026\nFarbeimer  20,00\nSumme  20,00\nBar  20,00";
    let document = draft(text, "document");
    assert_eq!((field(&document, "category"), field(&document, "amount")), ("receipt", "20.00"));
    assert_eq!(field(&draft(text, "inventory"), "purchase_price"), "20.00");
}

#[test]
fn two_paid_sums_make_no_total_certain() {
    let text = "Hotel Adler\n13.01.2026\nGesamt            300,00\nKaution VISA      300,00\nZimmer 2 Nächte   240,00\nEndsumme          240,00";
    assert_ne!(sure(&draft(text, "document"), "amount"), "certain");
}

#[test]
fn payment_shows_which_sum_is_total() {
    for (text, total) in [
        (
            "Buchladen Klee\n12.01.2026\nBuch            20,00\nSumme           20,00\nVersand          4,00\nBezahlt per PayPal 24,00",
            "24.00",
        ),
        (
            "Metro Cash & Carry\n16.01.2026\nSumme netto     100,00\nSumme            100,00\nUSt 19%           19,00\nKarte            119,00",
            "119.00",
        ),
        ("Quittung\nBetrag EUR 250,00 (zweihundertfünfzig)\nMünster, den 8.9.2025", "250.00"),
        (
            "Küchenstudio Albers\nDatum: 30.11.2025\nEinbauküche Nobilia         12.480,-\nRabatt                       1.480,-\nEndpreis                    11.000,- EUR",
            "11000.00",
        ),
    ] {
        assert_eq!(field(&draft(text, "document"), "amount"), total, "{text}");
    }
}

#[test]
fn street_is_no_shop() {
    for (text, shop) in [
        (
            "EDEKA Neukauf Sander\nMarktstr. 8, 53111 Bonn\nSeife 1,00\nSUMME 1,00 EUR\n01.03.2026",
            "EDEKA Neukauf Sander",
        ),
        ("dm\nMarktstr. 8, 53111 Bonn\nSeife 1,00\nSUMME 1,00 EUR\n01.03.2026", "-"),
        ("Edeka Sander\nMarktplatz 4\nShampoo 2,00\nSUMME EUR 2,00\n02.03.2026", "Edeka Sander"),
    ] {
        assert_eq!(field(&draft(text, "document"), "issuer"), shop, "{text}");
    }
}

#[test]
fn secret_of_router_is_no_value() {
    let text = "AVM FRITZ!Box 7590 AX\nArtikelnummer 20002998\nFRITZ!Box-Kennwort: baden1234\nWLAN-Netzwerkschlüssel: 12345678901234567890\nCWMP-Account: 00040E-3C3712345678";
    for draft in smart_add(&[file("file", text)], &Known::default()) {
        let all = json!([draft.fields, format!("{:?}", draft.evidence)]).to_string();
        assert!(!all.contains("baden1234") && !all.contains("12345678901234567890"), "{all}");
    }
}

#[test]
fn label_needs_an_end() {
    let text =
        "SIEMENS\nTyp: SE24M260EU/07\nE-Nr.: SN236I01KE/60  FD: 9911\nZ-Nr.: 000452\nSer.-Nr.: 489110123456004527";
    let item = draft(text, "inventory");
    let read = ["make", "model", "serial_number"].map(|name| field(&item, name));
    assert_eq!(read, ["Siemens", "SN236I01KE/60", "489110123456004527"]);
}

#[test]
fn plate_with_pressure_is_no_receipt() {
    for text in [
        "Vaillant\necoTEC plus VC 206/5-5\nSerial No. 21123400100156780001006789N4\nPMS 3 bar\nPMW 10 bar",
        "Kärcher K 5\nSer.No. 012345\n145 bar max.",
        "Gigaset S850\nS/N 00012345\nPIN: 4711",
    ] {
        let item = draft(text, "inventory");
        assert_eq!(field(&item, "purchase_price"), "-", "{text}");
        let document = draft_if_any(text, "document");
        assert!(document.is_none_or(|paper| field(&paper, "category") != "receipt"), "{text}");
    }
}

#[test]
fn term_under_a_condition_is_no_end() {
    for (text, end) in [
        (
            "Limited Warranty\nAcme Inc\nPurchased on: 28 February 2024\nWarranty: three (3) years from the date of purchase.\nRegister within 30 days to extend the warranty to 5 years.",
            "2027-02-28",
        ),
        (
            "Warranty\nBosch\nModel WAN28282\nPurchased on: 1 May 2024\nStandard warranty: 2 years\nExtended warranty valid until 30 April 2029 (optional, not purchased)",
            "2026-05-01",
        ),
        ("Toom\n03.02.2026\nToaster  29,00\nSumme  29,00\nAuf Akkus gewähren wir 6 Monate Garantie", "-"),
        (
            "Garantiekarte\nStiebel Eltron\nHerstelldatum: 04.02.2024\nInbetriebnahme am: 11.06.2024\n\
             Garantie: 36 Monate ab Inbetriebnahme",
            "2027-06-11",
        ),
        ("Wartungsvertrag\nVertragsbeginn: 01.04.2025\nLaufzeit: 24 Monate", "2027-03-31"),
        (
            "Wartungsvertrag\nVertragsbeginn: 01.04.2025\nLaufzeit: 24 Monate, verlängert sich um 12 Monate",
            "2027-03-31",
        ),
        ("Garantiekarte\nKaufdatum: 03.02.2026\nAkkuschrauber: 3 Jahre Garantie", "2029-02-03"),
        ("Certificate of insurance\nRegistration AB12 CDE, valid until 31 March 2027", "2027-03-31"),
        (
            "Kfz-Versicherung\nHUK-COBURG\nVersicherungsbeginn 01.01.2026\nErste Prämie fällig bis 15.01.2026\nVertrag läuft bis 31.12.2026",
            "2026-12-31",
        ),
        (
            "Mobilfunkvertrag\nTelefónica Germany GmbH\nKündbar bis: 10.03.2027\nMindestlaufzeit bis: 10.06.2027",
            "2027-06-10",
        ),
    ] {
        assert_eq!(field(&draft(text, "document"), "expires_on"), end, "{text}");
    }
}

#[test]
fn offer_is_no_receipt() {
    for text in [
        "ANGEBOT Nr. A-3312\nMalerbetrieb Krüger GmbH\nAngebotsdatum: 03.03.2026\nGültig bis: 31.03.2026\nFassade streichen  2.000,00\nNettosumme  2.000,00\nMwSt 19%  380,00\nGesamtsumme  2.380,00 EUR",
        "PRO FORMA INVOICE\nAcme Ltd\nDate: 3 March 2026\nDrill  100.00\nTotal  100.00",
    ] {
        assert_ne!(field(&draft(text, "document"), "category"), "receipt", "{text}");
        let item = draft_if_any(text, "inventory");
        assert!(item.is_none_or(|item| field(&item, "purchase_price") == "-"), "{text}");
    }
}

#[test]
fn only_a_bill_that_names_the_sale_is_purchase_of_the_vehicle() {
    let text = "Autohaus Stern GmbH\nWerkstattrechnung\nRechnungsdatum 12.12.2025\nFIN: WVWZZZ1KZ6W123456\nInspektion  289,00\nGesamtbetrag  289,00 EUR";
    let vehicle = draft(text, "vehicle");
    assert_eq!((field(&vehicle, "purchase_date"), field(&vehicle, "purchase_price")), ("-", "-"));
    let text = "Autohaus Stern GmbH\nRechnung\nRechnungsdatum 12.12.2025\nNeuwagen VW Golf\nFIN: WVWZZZ1KZ6W123456\nGesamtbetrag  28.900,00 EUR";
    let vehicle = draft(text, "vehicle");
    assert_eq!((field(&vehicle, "purchase_date"), field(&vehicle, "purchase_price")), ("2025-12-12", "28900.00"));
}

#[test]
fn contract_agrees_with_its_last_day_or_the_day_after() {
    for (stated, how) in [("31.03.2027", "certain"), ("01.04.2027", "certain"), ("30.03.2027", "likely")] {
        let text = format!("Wartungsvertrag\nVertragsbeginn: 01.04.2025\nLaufzeit: 24 Monate\nVertragsende: {stated}");
        assert_eq!(sure(&draft(&text, "document"), "expires_on"), how, "{stated}");
    }
}
