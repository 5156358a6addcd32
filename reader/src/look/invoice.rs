//! Reads an electronic invoice: CII (ZUGFeRD, Factur-X, XRechnung) or UBL (XRechnung, Peppol). Its fields are exact, nothing is
//! guessed. Must not know where the XML comes from.

use hearth_contract::formats::parse_date;
use roxmltree::{Document, Node};

use crate::reading::{Invoice, Position};

/// Bytes of the XML, at most.
pub(super) const XML_BYTES_MAX: usize = 2 << 20;
/// Positions that are kept, at most.
const POSITIONS_MAX: usize = 200;
/// The types of credit notes (EN 16931, code list UNTDID 1001).
const CREDIT_CODES: [&str; 11] = ["81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"];
/// The number of the list of GTINs, as invoices name it.
const GTIN_LIST: &str = "0160";

/// An invoice, and all texts of its XML, one a line.
pub(super) struct Found {
    pub(super) invoice: Invoice,
    pub(super) text: String,
}

/// The invoice in an XML text. None: it is no such invoice.
pub(super) fn read(xml: &str) -> Option<Found> {
    if xml.len() > XML_BYTES_MAX || !xml.trim_start().starts_with('<') {
        return None;
    }
    let document = Document::parse(xml).ok()?;
    let root = document.root_element();
    let invoice = match root.tag_name().name() {
        "CrossIndustryInvoice" | "CrossIndustryDocument" => cii(root),
        "Invoice" | "CreditNote" => ubl(root),
        _ => return None,
    };
    let texts = root.descendants().filter(Node::is_text).filter_map(|node| node.text());
    let text = texts.map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    Some(Found { invoice, text })
}

/// UN/CEFACT Cross Industry Invoice; the first names are those of today, the second those of ZUGFeRD 1.
fn cii(root: Node<'_, '_>) -> Invoice {
    let header = either(root, "ExchangedDocument", "HeaderExchangedDocument");
    let trade = either(root, "SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction");
    let agreement =
        trade.and_then(|node| either(node, "ApplicableHeaderTradeAgreement", "ApplicableSupplyChainTradeAgreement"));
    let settlement =
        trade.and_then(|node| either(node, "ApplicableHeaderTradeSettlement", "ApplicableSupplyChainTradeSettlement"));
    let sums = settlement.and_then(|node| {
        let old = "SpecifiedTradeSettlementMonetarySummation";
        either(node, "SpecifiedTradeSettlementHeaderMonetarySummation", old)
    });
    let lines = trade.into_iter().flat_map(|node| children(node, "IncludedSupplyChainTradeLineItem"));
    Invoice {
        number: text(header, &["ID"]),
        issued_on: text(header, &["IssueDateTime", "DateTimeString"]).and_then(|day| compact_day(&day)),
        seller: text(agreement, &["SellerTradeParty", "Name"]),
        total: text(sums, &["GrandTotalAmount"]).and_then(decimal),
        currency: text(settlement, &["InvoiceCurrencyCode"]),
        is_credit: text(header, &["TypeCode"]).is_some_and(|code| CREDIT_CODES.contains(&code.as_str())),
        positions: lines.filter_map(cii_position).take(POSITIONS_MAX).collect(),
    }
}

fn cii_position(line: Node<'_, '_>) -> Option<Position> {
    let product = child(line, "SpecifiedTradeProduct");
    let agreement = either(line, "SpecifiedLineTradeAgreement", "SpecifiedSupplyChainTradeAgreement");
    let delivery = either(line, "SpecifiedLineTradeDelivery", "SpecifiedSupplyChainTradeDelivery");
    let price = agreement.and_then(|node| child(node, "NetPriceProductTradePrice"));
    Some(Position {
        name: text(product, &["Name"])?,
        unit_price: text(price, &["ChargeAmount"])
            .filter(|_| is_for_one(text(price, &["BasisQuantity"])))
            .and_then(decimal),
        quantity: text(delivery, &["BilledQuantity"]).and_then(decimal),
        gtin: product.and_then(|node| gtin(child(node, "GlobalID"))),
    })
}

/// OASIS Universal Business Language.
fn ubl(root: Node<'_, '_>) -> Invoice {
    let seller = child(root, "AccountingSupplierParty").and_then(|node| child(node, "Party"));
    let sums = child(root, "LegalMonetaryTotal");
    let lines = children(root, "InvoiceLine").chain(children(root, "CreditNoteLine"));
    Invoice {
        number: text(Some(root), &["ID"]),
        issued_on: text(Some(root), &["IssueDate"]).filter(|day| parse_date(day).is_some()),
        seller: text(seller, &["PartyLegalEntity", "RegistrationName"])
            .or_else(|| text(seller, &["PartyName", "Name"])),
        total: text(sums, &["TaxInclusiveAmount"]).or_else(|| text(sums, &["PayableAmount"])).and_then(decimal),
        currency: text(Some(root), &["DocumentCurrencyCode"]),
        is_credit: root.tag_name().name() == "CreditNote"
            || text(Some(root), &["InvoiceTypeCode"]).is_some_and(|code| CREDIT_CODES.contains(&code.as_str())),
        positions: lines.filter_map(ubl_position).take(POSITIONS_MAX).collect(),
    }
}

fn ubl_position(line: Node<'_, '_>) -> Option<Position> {
    let item = child(line, "Item");
    let price = child(line, "Price");
    let number = item.and_then(|node| child(node, "StandardItemIdentification")).and_then(|node| child(node, "ID"));
    Some(Position {
        name: text(item, &["Name"])?,
        unit_price: text(price, &["PriceAmount"])
            .filter(|_| is_for_one(text(price, &["BaseQuantity"])))
            .and_then(decimal),
        quantity: text(Some(line), &["InvoicedQuantity"])
            .or_else(|| text(Some(line), &["CreditedQuantity"]))
            .and_then(decimal),
        gtin: gtin(number),
    })
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

fn either<'a, 'i>(node: Node<'a, 'i>, name: &'static str, old: &'static str) -> Option<Node<'a, 'i>> {
    child(node, name).or_else(|| child(node, old))
}

/// The text of the first node of a path, without spaces around. None: no such node, or no text.
fn text(node: Option<Node<'_, '_>>, path: &[&'static str]) -> Option<String> {
    let node = path.iter().try_fold(node?, |node, name| child(node, name))?;
    node.text().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a price is the price of one thing.
fn is_for_one(quantity: Option<String>) -> bool {
    quantity.is_none_or(|quantity| quantity.parse() == Ok(1.0))
}

fn gtin(node: Option<Node<'_, '_>>) -> Option<String> {
    let node = node.filter(|node| node.attribute("schemeID") == Some(GTIN_LIST))?;
    text(Some(node), &[])
}

/// A decimal such as `119.00`.
fn decimal(text: String) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    (is_number(whole) && is_number(part)).then_some(text)
}

/// `20260109` as `2026-01-09`.
fn compact_day(day: &str) -> Option<String> {
    let day = format!("{}-{}-{}", day.get(..4)?, day.get(4..6)?, day.get(6..8)?);
    parse_date(&day).map(|_| day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CII: &str = r#"<?xml version="1.0"?><rsm:CrossIndustryInvoice xmlns:rsm="urn:r" xmlns:ram="urn:a" xmlns:udt="urn:u">
      <rsm:ExchangedDocument><ram:ID>2026-00871</ram:ID><ram:IssueDateTime><udt:DateTimeString format="102">20260109</udt:DateTimeString></ram:IssueDateTime></rsm:ExchangedDocument>
      <rsm:SupplyChainTradeTransaction>
        <ram:IncludedSupplyChainTradeLineItem><ram:SpecifiedTradeProduct><ram:GlobalID schemeID="0160">4006381333931</ram:GlobalID><ram:Name>Dishwasher</ram:Name></ram:SpecifiedTradeProduct>
          <ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice><ram:ChargeAmount>100.00</ram:ChargeAmount></ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement>
          <ram:SpecifiedLineTradeDelivery><ram:BilledQuantity unitCode="C62">1.00</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery></ram:IncludedSupplyChainTradeLineItem>
        <ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty><ram:Name>Elektro Müller GmbH</ram:Name></ram:SellerTradeParty></ram:ApplicableHeaderTradeAgreement>
        <ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>
          <ram:SpecifiedTradeSettlementHeaderMonetarySummation><ram:GrandTotalAmount>119.00</ram:GrandTotalAmount></ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
      </rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"#;

    const UBL: &str = r#"<Invoice xmlns="urn:i" xmlns:cbc="urn:b" xmlns:cac="urn:c"><cbc:ID>R-7</cbc:ID><cbc:IssueDate>2026-02-30</cbc:IssueDate>
      <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
      <cac:AccountingSupplierParty><cac:Party><cac:PartyName><cbc:Name>Short</cbc:Name></cac:PartyName><cac:PartyLegalEntity><cbc:RegistrationName>Licht und Leuchten KG</cbc:RegistrationName></cac:PartyLegalEntity></cac:Party></cac:AccountingSupplierParty>
      <cac:LegalMonetaryTotal><cbc:TaxInclusiveAmount currencyID="EUR">23.80</cbc:TaxInclusiveAmount></cac:LegalMonetaryTotal>
      <cac:InvoiceLine><cbc:InvoicedQuantity>2</cbc:InvoicedQuantity><cac:Item><cbc:Name>Lamp</cbc:Name></cac:Item><cac:Price><cbc:PriceAmount>10.00</cbc:PriceAmount><cbc:BaseQuantity>100</cbc:BaseQuantity></cac:Price></cac:InvoiceLine></Invoice>"#;

    #[test]
    fn cii_invoice_is_exact() {
        let found = read(CII).unwrap();
        let position = Position {
            name: "Dishwasher".into(),
            unit_price: Some("100.00".into()),
            quantity: Some("1.00".into()),
            gtin: Some("4006381333931".into()),
        };
        let expected = Invoice {
            number: Some("2026-00871".into()),
            issued_on: Some("2026-01-09".into()),
            seller: Some("Elektro Müller GmbH".into()),
            total: Some("119.00".into()),
            currency: Some("EUR".into()),
            is_credit: false,
            positions: vec![position],
        };
        assert_eq!(found.invoice, expected);
        assert!(found.text.contains("Elektro Müller GmbH\n"));
    }

    #[test]
    fn ubl_invoice_is_exact_and_impossible_values_are_left_out() {
        let invoice = read(UBL).unwrap().invoice;
        assert_eq!(invoice.seller.as_deref(), Some("Licht und Leuchten KG"));
        assert_eq!(invoice.total.as_deref(), Some("23.80"));
        assert_eq!(invoice.issued_on, None, "there is no 30 February");
        assert_eq!(invoice.positions[0].unit_price, None, "the price is for 100");
        assert_eq!(invoice.positions[0].quantity.as_deref(), Some("2"));
    }

    #[test]
    fn credit_note_is_told_from_invoice() {
        assert!(!read(CII).unwrap().invoice.is_credit && !read(UBL).unwrap().invoice.is_credit);
        let cii = CII.replace("</ram:ID>", "</ram:ID><ram:TypeCode>381</ram:TypeCode>");
        assert!(read(&cii).unwrap().invoice.is_credit);
        let ubl = UBL.replace("Invoice xmlns", "CreditNote xmlns").replace("</Invoice>", "</CreditNote>");
        let ubl = ubl.replace("InvoiceLine", "CreditNoteLine").replace("InvoicedQuantity", "CreditedQuantity");
        let credit = read(&ubl).unwrap().invoice;
        assert_eq!((credit.is_credit, credit.positions[0].quantity.as_deref()), (true, Some("2")));
    }

    #[test]
    fn other_texts_are_no_invoices() {
        assert!(read("Total 3").is_none());
        assert!(read("<html><body/></html>").is_none());
        assert!(read("<Invoice>").is_none());
        let bomb = r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Invoice>&b;</Invoice>"#;
        assert!(read(bomb).is_none());
    }
}
