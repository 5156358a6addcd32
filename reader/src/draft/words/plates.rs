//! The labels on rating plates and boxes. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What a label on a rating plate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::draft) enum Plate {
    /// A number of the kind of product, when no model is named.
    Product,
    /// The sort of device, often the maker's inner name.
    Type,
    /// The model.
    Model,
    /// The model as some makers of kitchens call it.
    OrderNumber,
    /// The number of this one piece.
    Serial,
    /// Who made it.
    Make,
    /// A value of another kind, which ends the value before it.
    Other,
}

/// The labels of all languages.
pub(in crate::draft) static PLATES: LazyLock<Phrases<Plate>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Plate, &str)] = &[
    (
        Plate::Serial,
        "s n|sn|f nr|s no|s nr|serial|serial no|serial number|serial num|serial nr|ser no|ser nr|ser n|ser|sernr|serno|seriennummer|serien nr|seriennr|serien no|fabr nr|fabrnr|fabrik nr|fabriknummer|fabrikations nr\
        |fabrikationsnummer|fab nr|fabnr|fertigungsnummer|fertigungs nr|geratenummer|gerate nr|rahmennummer|frame no|frame number|n serie|no serie|no de serie|n de serie|num serie|num de serie|numero de serie|numero serie|nro de serie|nro serie\
        |serienummer|serie nr|serienr|serie n|matricola|n matricola|numero di serie|numero seriale|seriale|n di serie|n di matricola|numero di matricola|nr seryjny|service tag|imei|mfg no|mfr no|unit no|machine no",
    ),
    (
        Plate::Model,
        "model|model no|model number|model name|model nr|model n|mod|mod no|mod nr|mdl|modell|modell nr|modellnr|modellnummer|modellbezeichnung|modele|modele n|no de modele|n de modele|nom du modele|numero de modele\
        |modelo|modelo n|modelo no|n de modelo|modello|modello n|mod n|modelnummer|typenummer|m n|model code|commercial code|cod comm|regulatory model",
    ),
    (Plate::OrderNumber, "e nr|enr|e no|e n r|enumber|enummer|art nr e nr|sku"),
    (
        Plate::Type,
        "type|type no|type nr|typ|typ nr|typen nr|typbezeichnung|typenbezeichnung|type n|tipo|tipo n|tipo no",
    ),
    (
        Plate::Product,
        "product name|produktname|bezeichnung|pnc|prod no|prod nr|product no|product code|product number|produkt nr|produktnummer|art nr|art no|artikel nr|artikelnummer|article no|item no|ref|reference|reference no|p n|pn|part no|part number|referencia|codice|cod|cod prod|code|codigo|article",
    ),
    (
        Plate::Make,
        "make|manufacturer|brand|made by|mfr|manufactured by|hersteller|marke|fabrikat|herstellername|marque|fabricant|constructeur|marca|fabricante|merk|fabrikant|produttore|costruttore|fabbricante",
    ),
    (
        Plate::Other,
        "fd|i nr|z nr|volt|volts|voltage|spannung|tension|voltaje|tensione|hz|frequency|frequenz|frequence|power|leistung|puissance|potencia|potenza|vermogen|input|output|rated|nennspannung|nennleistung|made in|hergestellt in|fabrique en|fabricado en|prodotto in\
        |date|mfg date|date of manufacture|production date|manufactured|baujahr|year|class|klasse|weight|gewicht|capacity|kapazitat|refrigerant|kaltemittel|kw|max|mac|mac address|ean|upc|fcc id|imei2|eid|wifi|wlan|ssid|password|passwort|kennwort|fritz box kennwort|wlan netzwerkschlussel|netzwerkschlussel|network key|security key|wpa|wpa2|passphrase|mot de passe|contrasena|wachtwoord|account|pin",
    ),
];
