//! Common makes of things in a household and of vehicles. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// The makes of things, each with the name as the maker writes it.
pub(in crate::draft) static MAKES: LazyLock<Phrases<&'static str>> = LazyLock::new(|| phrases(THINGS));

/// The makes of vehicles.
pub(in crate::draft) static CARS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| phrases(VEHICLES));

fn phrases(list: &'static str) -> Phrases<&'static str> {
    let names: Vec<(&'static str, &str)> = list.split('|').map(|name| (name.trim(), name)).collect();
    Phrases::whole(&names)
}

const THINGS: &str = "AEG|Acer|Amana|Amazon|AOC|Apple|Ariston|Asko|Asus|Atag|Baratza|Bauknecht|Beko|Belkin|BenQ|Bertazzoni|Bissell|Black & Decker|Blaupunkt|Blomberg\
    |Bang & Olufsen|Bora|Bosch|Bose|Braun|Breville|Brother|Buderus|Candy|Canon|Carrier|Casio|Constructa|Cuisinart|Daikin|De Dietrich|De'Longhi|DeLonghi|Dell|Denon|DeWalt|DJI|Dremel|Dyson|Ecovacs|Einhell|Electrolux\
    |Elica|Epson|Eufy|Falmec|Festool|Fein|Fisher & Paykel|Fitbit|Flymo|Franke|Frigidaire|Fritz!Box|Fujifilm|Fujitsu|Gaggenau|Garmin|GE|GE Appliances|General Electric|Google|GoPro|Gorenje|Graef|Grohe|Grundfos\
    |Grundig|Haier|Hansgrohe|Harman Kardon|Hilti|Hikoki|Hisense|Hitachi|Honeywell|Honor|Hoover|Hotpoint|HP|Hewlett Packard|Huawei|Husqvarna|Ikea|Indesit|iRobot|Jabra|JBL|Jura|JVC|Kärcher|Kenmore|Kenwood|KitchenAid\
    |Kodak|Krups|Küppersbusch|Kyocera|La Marzocco|Leica|Lenovo|LG|Liebherr|Logitech|Makita|Marantz|Maytag|Medion|Melitta|Metabo|Microsoft|Miele|Milwaukee|Mitsubishi Electric|Moen|Moulinex|MSI|Napoleon|Neff|Nest|Netgear|Nikon|Nilfisk\
    |Ninja|Nintendo|Nokia|Novy|Olympus|OnePlus|Onkyo|Oral-B|Panasonic|Pelgrim|Philips|Philco|Pioneer|PlayStation|Poco|Polaroid|Rancilio|Razer|Realme|Remington|Rheem|Ricoh|Ridgid|Ring|Roborock|Roku|Roland|Rowenta|Rommelsbacher|Russell Hobbs|Ryobi|Saeco|Sage\
    |Samsung|SanDisk|Sauter|Scheppach|Schneider|Seagate|Sebo|Segway|Sennheiser|Severin|Shark|Sharp|Siemens|Silit|Singer|Smeg|SodaStream|Sonos|Sony|Stihl|Stiebel Eltron|Sub-Zero|Synology|TCL|Technics|Tefal|Telefunken|Thermador|Thermomix|Thomson|Toshiba|TP-Link\
    |Trane|Traeger|Ubiquiti|Vaillant|Viessmann|Viking|Vorwerk|Vestel|Vizio|Vitamix|Vitra|Wacom|Waterpik|Weber|Weishaupt|Western Digital|Westinghouse|Whirlpool|WMF|Wolf|Worx|Xerox|Xiaomi|Yamaha|Zanussi|Zanker|Zyxel";

const VEHICLES: &str = "Abarth|Acura|Alfa Romeo|Alpine|Aprilia|Aston Martin|Audi|Bentley|BMW|Buick|BYD|Cadillac|Chevrolet|Chrysler|Citroën|Cupra|Dacia|Daihatsu|Dodge|DS|Ducati|Ferrari|Fiat|Ford|Genesis|GMC|Harley-Davidson|Hobby|Honda\
    |Hummer|Hymer|Hyundai|Infiniti|Isuzu|Iveco|Jaguar|Jeep|Kawasaki|Kia|KTM|Lada|Lamborghini|Lancia|Land Rover|Lexus|Lincoln|Lotus|Lucid|MAN|Maserati|Mazda|Mercedes-Benz|Mercedes|MG|Mini|Mitsubishi|Moto Guzzi|NIO|Nissan|Opel|Perodua\
    |Peugeot|Piaggio|Polestar|Pontiac|Porsche|Proton|Ram|Renault|Rivian|Rolls-Royce|Saab|Seat|Škoda|Smart|SsangYong|Subaru|Suzuki|Tesla|Toyota|Triumph|Vauxhall|Vespa|Volkswagen|Volvo|VW|Yamaha";
