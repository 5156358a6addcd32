//! The labels on the papers of vehicles. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What a label on a paper of a vehicle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum Vehicle {
    /// The identification number.
    Vin,
    /// The license plate.
    Plate,
    /// Who made it.
    Make,
    /// The model.
    Model,
    /// The model year.
    Year,
    /// The colour.
    Color,
    /// What it runs on.
    Fuel,
    /// The number of the insurance policy.
    Policy,
    /// Another value, which ends the value before it.
    Other,
}

/// Words that only a bill of the sale of a vehicle has.
pub(in crate::draft) static SALES: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::whole(&[(
        (),
        "new vehicle|used vehicle|new car|used car|pre owned vehicle|vehicle price|neuwagen|neufahrzeug|gebrauchtwagen|gebrauchtfahrzeug|vorfuhrwagen|fahrzeugpreis\
        |vehicule neuf|vehicule d occasion|voiture d occasion|prix du vehicule|vehiculo nuevo|vehiculo usado|coche usado|nieuwe auto|tweedehands auto|prijs van de auto\
        |auto nuova|auto usata|veicolo nuovo|veicolo usato",
    )])
});

/// The labels of all languages.
pub(in crate::draft) static VEHICLES: LazyLock<Phrases<Vehicle>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            Vehicle::Vin,
            "vin|vin no|vin number|vehicle identification number|vehicle identification no|vehicle id|chassis no|chassis number|fin|fahrgestellnummer|fahrgestell nr|fahrzeug identifizierungsnummer|fahrzeugidentifizierungsnummer|fahrzeug ident nr|fahrzeugidentnr\
            |numero d identification|n d identification|numero de chassis|n de serie du vehicule|numero de bastidor|bastidor|n bastidor|voertuigidentificatienummer|chassisnummer|meldcode|numero di telaio|n telaio|telaio|numero telaio|vehicle no",
        ),
        (
            Vehicle::Plate,
            "license plate|licence plate|plate|plate no|plate number|license no|tag number|registration no|registration number|registration mark|reg no|reg number|vehicle registration|kennzeichen|amtliches kennzeichen|kfz kennzeichen|kontrollschild\
            |immatriculation|numero d immatriculation|n d immatriculation|n immatriculation|plaque|matricula|n de matricula|numero de matricula|kenteken|targa|numero di targa|n targa",
        ),
        (Vehicle::Make, "make|vehicle make|manufacturer|marke|hersteller|marque|marca|merk|fabbrica"),
        (
            Vehicle::Model,
            "model|vehicle model|handelsbezeichnung|modell|modele|denomination commerciale|modelo|denominacion comercial|handelsbenaming|modello|denominazione commerciale",
        ),
        (
            Vehicle::Year,
            "year|model year|yr|vehicle year|modelljahr|baujahr|annee modele|annee|ano modelo|ano|bouwjaar|anno",
        ),
        (Vehicle::Color, "color|colour|farbe|couleur|kleur|colore"),
        (
            Vehicle::Fuel,
            "fuel|fuel type|kraftstoff|kraftstoffart|energiequelle|carburant|energie|source d energie|combustible|brandstof|carburante|alimentazione",
        ),
        (
            Vehicle::Policy,
            "policy no|policy number|policy|versicherungsnummer|versicherungsschein nr|versicherungsscheinnummer|vsnr|police nr|numero de police|n de police|n de contrat|numero de poliza|n de poliza|poliza n|polisnummer|polis nr|numero polizza|polizza n|n polizza",
        ),
        (
            Vehicle::Other,
            "body|body style|class|gvwr|weight|unladen weight|owner|registered owner|title no|title number|odometer|mileage|issue date|expires|expiration|valid until|leergewicht|halter|name|address|anschrift|titulaire|adresse|proprietaire|titular|eigenaar|intestatario|cyl|engine|engine no|motor nr",
        ),
    ])
});

/// What a vehicle runs on: the words of the field `fuel_type` (contract 3).
pub(in crate::draft) static FUELS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "plug_in_hybrid",
            "plug in hybrid|plugin hybrid|phev|plug in|hybride rechargeable|hibrido enchufable|ibrida plug in|hybr benzin e|ee",
        ),
        ("hybrid", "hybrid|hev|hybride|hibrido|ibrida|ibrido|hybr benzin|hybr diesel"),
        ("gasoline", "gasoline|petrol|gas|benzin|super|essence|gasolina|benzine|benzina|es"),
        ("diesel", "diesel|gazole|gasoil|gasoleo|gasolio|go"),
        ("electric", "electric|elektro|elektrisch|electrique|electrico|elettrica|elettrico|el|bev"),
    ])
});

/// The harmonised codes of registration papers in Europe (Directive 1999/37/EC), in lower case.
pub(in crate::draft) fn code(word: &str) -> Option<Vehicle> {
    let word = word.trim_matches(['(', ')', '[', ']', ':', '.', ';']);
    Some(match word {
        "a" => Vehicle::Plate,
        "e" => Vehicle::Vin,
        "d.1" | "d1" => Vehicle::Make,
        "d.3" | "d3" => Vehicle::Model,
        "r" => Vehicle::Color,
        "p.3" | "p3" => Vehicle::Fuel,
        "d.2" | "d2" | "b" | "h" | "i" | "j" | "k" | "g" | "f.1" | "f.2" | "f1" | "f2" | "p.1" | "p.2" | "p1"
        | "p2" | "s.1" | "s1" | "v.7" | "v.9" | "c.1" | "c.1.1" | "c.1.2" | "c.1.3" | "c.4" | "q" | "l" | "t"
        | "u.1" | "u.2" | "u.3" | "x.1" | "5" | "2.1" | "2.2" | "6" => Vehicle::Other,
        _ => return None,
    })
}
