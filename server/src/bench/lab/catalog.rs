//! Words for generated homes: products with makes and prices, titles of tasks, people, paints. Only data. Must not
//! know how the words are combined.

/// A product that a family may own.
pub struct Product {
    /// Name of the product, without its make.
    pub name: &'static str,
    /// Value of the field `category` in the contract.
    pub category: &'static str,
    /// Names of manufacturers.
    pub makes: &'static [&'static str],
    /// Price range in whole currency units; the end is exclusive.
    pub price: (u32, u32),
}

/// The people of the family, as in the fixtures of the sandbox.
pub const PEOPLE: [&str; 4] = ["Mateo", "Nora", "Emil", "Lola"];

/// Titles of everyday tasks.
pub const TASK_TITLES: [&str; 24] = [
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

/// Paint colors of rooms.
pub const PAINTS: [&str; 8] =
    ["Linen white", "Sage", "Pale oak", "Blue slate", "Clay", "Chalk", "Moss 3", "Evening grey"];

/// Products for every room of a house.
pub const PRODUCTS: [Product; 40] = [
    product("Cordless drill, 18 V", "tool", &["Bosch", "Makita", "DeWalt"], (90, 260)),
    product("Socket set, 94 pieces", "tool", &["Gedore", "Proxxon", "Craftsman"], (60, 190)),
    product("Step ladder, 6 rungs", "tool", &["Hailo", "Werner", "Krause"], (70, 160)),
    product("Orbital sander", "tool", &["Festool", "Bosch", "Ryobi"], (60, 420)),
    product("Laser level", "tool", &["Stanley", "Huepar", "Bosch"], (50, 240)),
    product("Table lamp", "furniture", &["Ikea", "Muuto", "Anglepoise"], (20, 290)),
    product("Dining chair", "furniture", &["Thonet", "Hay", "Ikea"], (45, 480)),
    product("Bookcase, oak", "furniture", &["String", "Ikea", "Vitsoe"], (120, 900)),
    product("Sofa, three seats", "furniture", &["Ligne Roset", "Article", "Ikea"], (600, 3200)),
    product("Bed frame, 160 cm", "furniture", &["Auping", "Ikea", "Thuma"], (300, 1900)),
    product("Wool rug", "furniture", &["Nanimarquina", "Ruggable", "Ikea"], (90, 1200)),
    product("Washing machine", "appliance", &["Miele", "Bosch", "LG"], (500, 1500)),
    product("Dryer, heat pump", "appliance", &["Miele", "Siemens", "Samsung"], (600, 1400)),
    product("Dishwasher", "appliance", &["Miele", "Bosch", "Beko"], (450, 1300)),
    product("Microwave", "appliance", &["Panasonic", "Sharp", "Whirlpool"], (90, 380)),
    product("Vacuum cleaner", "appliance", &["Miele", "Dyson", "Numatic"], (150, 700)),
    product("Dehumidifier", "appliance", &["Meaco", "DeLonghi", "Midea"], (140, 360)),
    product("Television, 55 inch", "electronics", &["Sony", "LG", "Philips"], (500, 1800)),
    product("Router", "electronics", &["AVM", "Ubiquiti", "Asus"], (80, 320)),
    product("Laptop, 14 inch", "electronics", &["Lenovo", "Apple", "Framework"], (800, 2300)),
    product("Printer", "electronics", &["Brother", "HP", "Epson"], (90, 400)),
    product("Record player", "electronics", &["Rega", "Technics", "Pro-Ject"], (250, 1100)),
    product("Smoke alarm", "electronics", &["Hekatron", "Ei", "Nest"], (20, 110)),
    product("Cast-iron pot, 5 l", "kitchenware", &["Staub", "Le Creuset", "Lodge"], (60, 330)),
    product("Chef's knife, 20 cm", "kitchenware", &["Victorinox", "Tojiro", "Wüsthof"], (40, 180)),
    product("Stand mixer", "kitchenware", &["KitchenAid", "Bosch", "Kenwood"], (200, 700)),
    product("Espresso cups, set of six", "kitchenware", &["Iittala", "Loveramics", "Ikea"], (15, 90)),
    product("Bicycle, city", "sports", &["Gazelle", "Trek", "Cube"], (400, 1600)),
    product("Skis with bindings", "sports", &["Atomic", "Rossignol", "Völkl"], (250, 800)),
    product("Tent for four", "sports", &["Hilleberg", "Vaude", "MSR"], (200, 1100)),
    product("Garden hose, 30 m", "outdoor", &["Gardena", "Hozelock", "Kärcher"], (40, 130)),
    product("Lawn mower", "outdoor", &["Honda", "Stihl", "Makita"], (250, 900)),
    product("Rain barrel, 300 l", "outdoor", &["Graf", "Garantia", "Otto"], (60, 190)),
    product("Winter coat", "clothing", &["Fjällräven", "Patagonia", "Barbour"], (150, 600)),
    product("Framed print", "art", &["Atelier Nord", "Kunsthalle", "Local artist"], (40, 900)),
    product("Wristwatch", "jewelry", &["Seiko", "Omega", "Junghans"], (120, 4000)),
    product("Water filter cartridge", "consumable", &["Brita", "BWT", "Everpure"], (6, 30)),
    product("Furnace filter, 16x25x4", "consumable", &["Honeywell", "Filtrete", "Aprilaire"], (20, 45)),
    product("AA batteries, pack of eight", "consumable", &["Varta", "Panasonic", "Duracell"], (6, 18)),
    product("Softener salt, 25 kg", "consumable", &["Axal", "Broxo", "Morton"], (8, 22)),
];

const fn product(
    name: &'static str,
    category: &'static str,
    makes: &'static [&'static str],
    price: (u32, u32),
) -> Product {
    Product { name, category, makes, price }
}

/// An amount in whole units as decimal text: `12.00`.
pub fn money(units: u32) -> String {
    format!("{units}.00")
}
