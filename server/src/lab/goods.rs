//! The words that invented homes are made of: things with their makes and prices, errands, people, paints. Data alone.

/// A sort of thing one owns.
pub struct Good {
    /// What it is called.
    pub name: &'static str,
    /// Its category in the contract.
    pub category: &'static str,
    /// Who makes it.
    pub makes: &'static [&'static str],
    /// What it costs, from and to, in whole units.
    pub price: (u32, u32),
}

/// The people of the fixture home.
pub const FAMILY: [&str; 4] = ["Mateo", "Nora", "Emil", "Lola"];

/// What a family thinks of in passing.
pub const ERRANDS: [&str; 24] = [
    "Buy dishwasher tablets",
    "Pick up furnace filters",
    "Get birthday candles",
    "Return library books",
    "Buy dog food",
    "Descale the kettle",
    "Clean the gutters",
    "Bleed the radiators",
    "Test the smoke alarms",
    "Call about the invoice",
    "Sharpen the kitchen knives",
    "Oil the garage door",
    "Wash the winter duvets",
    "Order contact lenses",
    "Water the tomatoes",
    "Book the chimney sweep",
    "Replace the fridge filter",
    "Bring bottles back",
    "Sign the field trip slip",
    "Air the mattresses",
    "Pay the piano teacher",
    "Cut back the hedge",
    "Vacuum the car",
    "Look for the spare key",
];

/// Colours for a room.
pub const PAINTS: [&str; 8] =
    ["Linen white", "Sage", "Pale oak", "Blue slate", "Clay", "Chalk", "Moss 3", "Evening grey"];

/// Things, from the cellar to the attic.
pub const GOODS: [Good; 40] = [
    good("Cordless drill, 18 V", "tool", &["Bosch", "Makita", "DeWalt"], (90, 260)),
    good("Socket set, 94 pieces", "tool", &["Gedore", "Proxxon", "Craftsman"], (60, 190)),
    good("Step ladder, 6 rungs", "tool", &["Hailo", "Werner", "Krause"], (70, 160)),
    good("Orbital sander", "tool", &["Festool", "Bosch", "Ryobi"], (60, 420)),
    good("Laser level", "tool", &["Stanley", "Huepar", "Bosch"], (50, 240)),
    good("Table lamp", "furniture", &["Ikea", "Muuto", "Anglepoise"], (20, 290)),
    good("Dining chair", "furniture", &["Thonet", "Hay", "Ikea"], (45, 480)),
    good("Bookcase, oak", "furniture", &["String", "Ikea", "Vitsoe"], (120, 900)),
    good("Sofa, three seats", "furniture", &["Ligne Roset", "Article", "Ikea"], (600, 3200)),
    good("Bed frame, 160 cm", "furniture", &["Auping", "Ikea", "Thuma"], (300, 1900)),
    good("Wool rug", "furniture", &["Nanimarquina", "Ruggable", "Ikea"], (90, 1200)),
    good("Washing machine", "appliance", &["Miele", "Bosch", "LG"], (500, 1500)),
    good("Dryer, heat pump", "appliance", &["Miele", "Siemens", "Samsung"], (600, 1400)),
    good("Dishwasher", "appliance", &["Miele", "Bosch", "Beko"], (450, 1300)),
    good("Microwave", "appliance", &["Panasonic", "Sharp", "Whirlpool"], (90, 380)),
    good("Vacuum cleaner", "appliance", &["Miele", "Dyson", "Numatic"], (150, 700)),
    good("Dehumidifier", "appliance", &["Meaco", "DeLonghi", "Midea"], (140, 360)),
    good("Television, 55 inch", "electronics", &["Sony", "LG", "Philips"], (500, 1800)),
    good("Router", "electronics", &["AVM", "Ubiquiti", "Asus"], (80, 320)),
    good("Laptop, 14 inch", "electronics", &["Lenovo", "Apple", "Framework"], (800, 2300)),
    good("Printer", "electronics", &["Brother", "HP", "Epson"], (90, 400)),
    good("Record player", "electronics", &["Rega", "Technics", "Pro-Ject"], (250, 1100)),
    good("Smoke alarm", "electronics", &["Hekatron", "Ei", "Nest"], (20, 110)),
    good("Cast-iron pot, 5 l", "kitchenware", &["Staub", "Le Creuset", "Lodge"], (60, 330)),
    good("Chef's knife, 20 cm", "kitchenware", &["Victorinox", "Tojiro", "Wüsthof"], (40, 180)),
    good("Stand mixer", "kitchenware", &["KitchenAid", "Bosch", "Kenwood"], (200, 700)),
    good("Espresso cups, set of six", "kitchenware", &["Iittala", "Loveramics", "Ikea"], (15, 90)),
    good("Bicycle, city", "sports", &["Gazelle", "Trek", "Cube"], (400, 1600)),
    good("Skis with bindings", "sports", &["Atomic", "Rossignol", "Völkl"], (250, 800)),
    good("Tent for four", "sports", &["Hilleberg", "Vaude", "MSR"], (200, 1100)),
    good("Garden hose, 30 m", "outdoor", &["Gardena", "Hozelock", "Kärcher"], (40, 130)),
    good("Lawn mower", "outdoor", &["Honda", "Stihl", "Makita"], (250, 900)),
    good("Rain barrel, 300 l", "outdoor", &["Graf", "Garantia", "Otto"], (60, 190)),
    good("Winter coat", "clothing", &["Fjällräven", "Patagonia", "Barbour"], (150, 600)),
    good("Framed print", "art", &["Atelier Nord", "Kunsthalle", "Local artist"], (40, 900)),
    good("Wristwatch", "jewelry", &["Seiko", "Omega", "Junghans"], (120, 4000)),
    good("Water filter cartridge", "consumable", &["Brita", "BWT", "Everpure"], (6, 30)),
    good("Furnace filter, 16x25x4", "consumable", &["Honeywell", "Filtrete", "Aprilaire"], (20, 45)),
    good("AA batteries, pack of eight", "consumable", &["Varta", "Panasonic", "Duracell"], (6, 18)),
    good("Softener salt, 25 kg", "consumable", &["Axal", "Broxo", "Morton"], (8, 22)),
];

const fn good(name: &'static str, category: &'static str, makes: &'static [&'static str], price: (u32, u32)) -> Good {
    Good { name, category, makes, price }
}

/// Whole units as money.
pub fn money(units: u32) -> String {
    format!("{units}.00")
}
