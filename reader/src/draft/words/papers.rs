//! Words that tell what sort of paper a file is. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// The sorts of papers: the words of the field `category` of a document (contract 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::draft) enum Paperwork {
    /// A receipt or an invoice.
    Receipt,
    /// A promise of a maker or seller.
    Warranty,
    /// A manual.
    Manual,
    /// A policy.
    Insurance,
    /// A deed of land.
    Deed,
    /// A loan on a house.
    Mortgage,
    /// A paper of a tax office.
    Tax,
    /// A contract.
    Contract,
    /// A permit.
    Permit,
    /// A report of an inspection.
    Inspection,
    /// A paper of a doctor.
    Medical,
    /// An identity card, passport or registration.
    Identification,
}

impl Paperwork {
    /// The word of the field `category`.
    pub(in crate::draft) fn word(self) -> &'static str {
        match self {
            Paperwork::Receipt => "receipt",
            Paperwork::Warranty => "warranty",
            Paperwork::Manual => "manual",
            Paperwork::Insurance => "insurance",
            Paperwork::Deed => "deed",
            Paperwork::Mortgage => "mortgage",
            Paperwork::Tax => "tax",
            Paperwork::Contract => "contract",
            Paperwork::Permit => "permit",
            Paperwork::Inspection => "inspection",
            Paperwork::Medical => "medical",
            Paperwork::Identification => "identification",
        }
    }

    /// The sort of paper as the title of a document begins.
    pub(in crate::draft) fn title(self) -> &'static str {
        match self {
            Paperwork::Receipt => "Receipt",
            Paperwork::Warranty => "Warranty",
            Paperwork::Manual => "Manual",
            Paperwork::Insurance => "Insurance",
            Paperwork::Deed => "Deed",
            Paperwork::Mortgage => "Mortgage",
            Paperwork::Tax => "Tax paper",
            Paperwork::Contract => "Contract",
            Paperwork::Permit => "Permit",
            Paperwork::Inspection => "Inspection",
            Paperwork::Medical => "Medical paper",
            Paperwork::Identification => "Identification",
        }
    }
}

/// Why a paper with the words of a receipt tells of no purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum NoPurchase {
    /// The seller pays the sum back.
    Credit,
    /// Nothing has been bought yet.
    Offer,
}

/// The titles of such papers in all languages.
pub(in crate::draft) static NO_PURCHASES: LazyLock<Phrases<NoPurchase>> = LazyLock::new(|| {
    Phrases::whole(&[
        (
            NoPurchase::Credit,
            "credit note|credit memo|refund receipt|gutschrift|rechnungskorrektur|stornorechnung|avoir|facture d avoir|note de credit|nota de credito|factura rectificativa\
            |creditnota|creditfactuur|nota di credito",
        ),
        (
            NoPurchase::Offer,
            "quote|quotation|estimate|pro forma|proforma|pro forma invoice|proforma invoice|angebot|kostenvoranschlag|proformarechnung|devis|presupuesto|factura proforma\
            |offerte|preventivo|fattura proforma",
        ),
    ])
});

/// The words of all languages.
pub(in crate::draft) static PAPERS: LazyLock<Phrases<Paperwork>> = LazyLock::new(|| Phrases::new(LABELS));

const LABELS: &[(Paperwork, &str)] = &[
    (
        Paperwork::Receipt,
        "receipt|sales receipt|invoice|tax invoice|cash bill|cash sale|invoice no|invoice number|order confirmation|packing slip\
        |rechnung|rechnungsnummer|quittung|kassenbon|kassenbeleg|kaufbeleg|bon nr|barverkauf|gutschrift|lieferschein\
        |facture|facture n|ticket de caisse|recu|bon de livraison|avoir|factura|factura simplificada|ticket de compra|recibo|albaran\
        |factuur|factuurnummer|kassabon|aankoopbewijs|fattura|scontrino|ricevuta|ricevuta fiscale|documento commerciale",
    ),
    (
        Paperwork::Warranty,
        "warranty|limited warranty|warranty card|warranty certificate|guarantee|guarantee card|warranty period|extended warranty|years warranty\
        |garantie|garantiekarte|garantieschein|garantieurkunde|garantiebedingungen|garantiezeit|gewahrleistung|herstellergarantie\
        |certificat de garantie|bon de garantie|carte de garantie|garantie constructeur|duree de garantie|garantia|certificado de garantia|tarjeta de garantia|garantia comercial\
        |garantiebewijs|garantiekaart|garantiecertificaat|garantieperiode|fabrieksgarantie|garanzia|certificato di garanzia|cartolina di garanzia",
    ),
    (
        Paperwork::Manual,
        "user manual|owner s manual|owners manual|instruction manual|operating instructions|user guide|quick start guide|installation manual|instructions for use|assembly instructions|safety instructions\
        |bedienungsanleitung|gebrauchsanweisung|betriebsanleitung|montageanleitung|gebrauchsanleitung|aufbauanleitung|kurzanleitung|sicherheitshinweise\
        |mode d emploi|notice d utilisation|manuel d utilisation|guide d utilisation|notice de montage|manual de instrucciones|manual de usuario|instrucciones de uso|guia de usuario|instrucciones de montaje\
        |gebruiksaanwijzing|handleiding|gebruikershandleiding|montagehandleiding|manuale d uso|istruzioni per l uso|manuale di istruzioni|guida rapida|libretto di istruzioni",
    ),
    (
        Paperwork::Insurance,
        "insurance policy|policy number|policy no|insurance|certificate of insurance|insured|policyholder|sum insured|coverage|deductible|premium\
        |versicherung|versicherungsschein|versicherungspolice|versicherungsnummer|versicherungsnehmer|versicherungssumme|police nr|jahresbeitrag|selbstbeteiligung|haftpflicht|hausrat\
        |assurance|contrat d assurance|attestation d assurance|numero de police|n de police|police n|assure|souscripteur|prime annuelle|franchise\
        |seguro|poliza|poliza de seguro|numero de poliza|asegurado|tomador|prima|verzekering|polis|polisnummer|verzekeringspolis|verzekerde|verzekeringnemer|eigen risico\
        |assicurazione|polizza|numero polizza|polizza n|contraente|assicurato|premio annuo|massimale",
    ),
    (
        Paperwork::Deed,
        "deed|warranty deed|quitclaim deed|title deed|grant deed|grundbuch|grundbuchauszug|kaufvertrag uber ein grundstuck|auflassung|acte de vente|acte notarie|titre de propriete|escritura|escritura publica|registro de la propiedad\
        |eigendomsakte|notariele akte|kadaster|atto notarile|rogito|atto di compravendita|visura catastale",
    ),
    (
        Paperwork::Mortgage,
        "mortgage|mortgage statement|loan agreement|principal balance|escrow|hypothek|darlehensvertrag|baufinanzierung|grundschuld|pret immobilier|credit immobilier|offre de pret|hipoteca|prestamo hipotecario\
        |hypotheek|hypotheekakte|mutuo|mutuo ipotecario|contratto di mutuo",
    ),
    (
        Paperwork::Tax,
        "tax return|property tax|income tax|tax bill|tax assessment|internal revenue service|steuerbescheid|einkommensteuer|grundsteuer|grundsteuerbescheid|finanzamt|kfz steuer\
        |avis d imposition|taxe fonciere|taxe d habitation|impot sur le revenu|declaration de revenus|impuesto sobre bienes inmuebles|ibi|agencia tributaria|declaracion de la renta|irpf\
        |belastingdienst|aanslag|belastingaanslag|woz waarde|inkomstenbelasting|agenzia delle entrate|dichiarazione dei redditi|imu|tari|modello 730",
    ),
    (
        Paperwork::Contract,
        "contract|agreement|service agreement|lease agreement|rental agreement|terms of contract|contract number|contract no|subscription|minimum term|notice period\
        |vertrag|vertragsnummer|mietvertrag|wartungsvertrag|liefervertrag|laufzeit|mindestlaufzeit|kundigungsfrist|kaufvertrag\
        |contrat|contrat de location|contrat d entretien|numero de contrat|duree du contrat|abonnement|preavis|contrato|contrato de alquiler|contrato de mantenimiento|numero de contrato|permanencia\
        |overeenkomst|huurovereenkomst|contractnummer|onderhoudscontract|looptijd|opzegtermijn|contratto|contratto di locazione|contratto di manutenzione|numero contratto|disdetta",
    ),
    (
        Paperwork::Permit,
        "building permit|permit|permit number|planning permission|zoning|licence|license|baugenehmigung|genehmigung|bauantrag|permis de construire|autorisation|declaration prealable|licencia de obras|licencia|permiso\
        |omgevingsvergunning|bouwvergunning|vergunning|permesso di costruire|concessione edilizia|autorizzazione",
    ),
    (
        Paperwork::Inspection,
        "inspection report|inspection|home inspection|inspection certificate|hauptuntersuchung|prufbericht|untersuchungsbericht|prufprotokoll|messprotokoll|kaminkehrer|schornsteinfeger|feuerstattenschau\
        |controle technique|rapport d inspection|diagnostic|proces verbal|inspeccion tecnica|itv|informe de inspeccion|keuringsrapport|keuring|apk|apk keuring|inspectierapport|revisione|rapporto di ispezione|collaudo|verbale di prova",
    ),
    (
        Paperwork::Medical,
        "prescription|patient|diagnosis|physician|vaccination|hospital|rezept|patient in|diagnose|arztbrief|impfung|krankenhaus|krankenkasse|ordonnance|medecin|vaccination|hopital|feuille de soins|receta|receta medica|paciente|medico|hospital\
        |recept|patient|huisarts|ziekenhuis|ricetta|ricetta medica|paziente|ospedale|referto",
    ),
    (
        Paperwork::Identification,
        "passport|identity card|driver license|driver s license|driving licence|birth certificate|vehicle registration|registration certificate|certificate of title|certificate of registration\
        |reisepass|personalausweis|fuhrerschein|geburtsurkunde|zulassungsbescheinigung|fahrzeugschein|fahrzeugbrief|fahrzeugausweis\
        |passeport|carte d identite|carte nationale d identite|permis de conduire|acte de naissance|certificat d immatriculation|carte grise|pasaporte|documento nacional de identidad|dni|permiso de conducir|permiso de circulacion|ficha tecnica\
        |paspoort|identiteitskaart|rijbewijs|kentekenbewijs|kentekencard|geboorteakte|passaporto|carta d identita|patente di guida|carta di circolazione|certificato di nascita|libretto di circolazione|documento unico",
    ),
];
