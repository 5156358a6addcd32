//! Words that tell what sort of thing an item is. Must not know rows.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// The words of all languages, each with the word of the field `category` of an item (contract 3).
pub(in crate::draft) static THINGS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "appliance",
            "dishwasher|washing machine|washer|dryer|tumble dryer|washer dryer|refrigerator|fridge|freezer|oven|cooker|hob|cooktop|range hood|microwave|microwave oven|vacuum cleaner|vacuum|robot vacuum|air conditioner|air purifier|dehumidifier|humidifier|heater|boiler|water heater|heat pump|steam iron|iron|coffee machine|espresso machine|fan|sewing machine\
            |geschirrspuler|geschirrspueler|spulmaschine|waschmaschine|trockner|waschtrockner|waschetrockner|kuhlschrank|kuehlschrank|gefrierschrank|gefriertruhe|kuhl gefrier kombination|backofen|herd|kochfeld|induktionskochfeld|dunstabzug|dunstabzugshaube|mikrowelle|staubsauger|saugroboter|klimaanlage|luftreiniger|luftentfeuchter|heizung|heizgerat|warmepumpe|durchlauferhitzer|bugeleisen|kaffeemaschine|kaffeevollautomat|ventilator|nahmaschine\
            |lave vaisselle|lave linge|machine a laver|seche linge|refrigerateur|congelateur|four|four a micro ondes|cuisiniere|plaque de cuisson|table de cuisson|plaque induction|hotte|micro ondes|aspirateur|aspirateur robot|climatiseur|purificateur d air|chauffe eau|chaudiere|pompe a chaleur|fer a repasser|machine a cafe|cafetiere|ventilateur|machine a coudre\
            |lavavajillas|lavadora|secadora|frigorifico|nevera|congelador|horno|cocina de gas|vitroceramica|placa de induccion|campana extractora|microondas|aspiradora|aspirador|aire acondicionado|purificador de aire|calentador|caldera|plancha|cafetera|ventilador|maquina de coser\
            |vaatwasser|wasmachine|droger|wasdroger|wasdroogcombinatie|koelkast|vriezer|diepvriezer|koelvriescombinatie|fornuis|kookplaat|inductiekookplaat|afzuigkap|magnetron|combimagnetron|stofzuiger|robotstofzuiger|airco|luchtreiniger|boiler|cv ketel|warmtepomp|strijkijzer|koffiemachine|koffiezetapparaat|naaimachine\
            |lavastoviglie|lavatrice|asciugatrice|lavasciuga|frigorifero|congelatore|forno|forno a microonde|piano cottura|piano a induzione|cappa|microonde|aspirapolvere|robot aspirapolvere|condizionatore|climatizzatore|purificatore|scaldabagno|caldaia|pompa di calore|ferro da stiro|macchina da caffe|macchina per caffe|ventilatore|macchina da cucire",
        ),
        (
            "electronics",
            "television|tv|smart tv|monitor|laptop|notebook|computer|desktop|pc|tablet|smartphone|phone|mobile phone|camera|lens|printer|scanner|router|speaker|soundbar|headphones|earbuds|headset|amplifier|receiver|projector|console|game console|hard drive|ssd|keyboard|mouse|smartwatch|e reader|charger|power bank|drone|iphone|ipad|macbook|nas|webcam\
            |fernseher|bildschirm|rechner|drucker|kopfhorer|kopfhoerer|lautsprecher|kamera|objektiv|handy|verstarker|beamer|spielkonsole|spielekonsole|festplatte|tastatur|maus|ladegerat|netzteil\
            |televiseur|televisione|ecran|ordinateur|ordinateur portable|imprimante|casque|casque audio|enceinte|barre de son|appareil photo|objectif|telephone|videoprojecteur|disque dur|clavier|souris|chargeur|tablette\
            |televisor|pantalla|ordenador|ordenador portatil|portatil|impresora|auriculares|altavoz|barra de sonido|camara|objetivo|movil|telefono movil|proyector|disco duro|teclado|raton|cargador\
            |televisie|beeldscherm|computer|printer|koptelefoon|luidspreker|camera|telefoon|toetsenbord|muis|oplader|harde schijf\
            |televisore|schermo|computer portatile|stampante|cuffie|altoparlante|cassa bluetooth|fotocamera|obiettivo|cellulare|telefono|proiettore|disco rigido|tastiera|caricatore",
        ),
        (
            "furniture",
            "sofa|couch|armchair|chair|office chair|table|dining table|coffee table|desk|bed|mattress|wardrobe|cabinet|shelf|bookcase|bookshelf|dresser|nightstand|stool|bench|sideboard|lamp|rug|carpet|curtain|mirror\
            |sessel|stuhl|burostuhl|tisch|esstisch|couchtisch|schreibtisch|bett|matratze|lattenrost|schrank|kleiderschrank|regal|bucherregal|kommode|nachttisch|hocker|bank|lampe|teppich|vorhang|spiegel\
            |canape|fauteuil|chaise|bureau|lit|matelas|sommier|armoire|etagere|bibliotheque|commode|table de chevet|tabouret|banc|lampadaire|tapis|rideau|miroir\
            |sillon|silla|mesa|escritorio|cama|colchon|somier|armario|estanteria|comoda|mesita de noche|taburete|banco|lampara|alfombra|cortina|espejo\
            |bankstel|stoel|bureaustoel|tafel|eettafel|salontafel|matras|kast|kledingkast|boekenkast|ladekast|nachtkastje|kruk|tapijt|vloerkleed|gordijn|spiegel\
            |divano|poltrona|sedia|tavolo|tavolino|scrivania|letto|materasso|rete|armadio|scaffale|libreria|cassettiera|comodino|sgabello|panca|lampada|tappeto|tenda|specchio",
        ),
        (
            "tool",
            "drill|cordless drill|impact driver|screwdriver|hammer|saw|circular saw|jigsaw|chainsaw|sander|grinder|angle grinder|wrench|pliers|toolbox|ladder|compressor|generator|pressure washer|multimeter|welder|heat gun|router bit\
            |bohrmaschine|akkuschrauber|akku bohrschrauber|schlagbohrmaschine|schraubendreher|hammer|sage|kreissage|stichsage|kettensage|schleifer|winkelschleifer|zange|werkzeugkoffer|leiter|kompressor|hochdruckreiniger|heissluftpistole\
            |perceuse|perceuse visseuse|visseuse|tournevis|marteau|scie|scie circulaire|scie sauteuse|tronconneuse|ponceuse|meuleuse|pince|boite a outils|echelle|compresseur|groupe electrogene|nettoyeur haute pression\
            |taladro|atornillador|destornillador|martillo|sierra|sierra circular|motosierra|lijadora|amoladora|alicates|caja de herramientas|escalera|compresor|generador|hidrolimpiadora\
            |boormachine|accuboormachine|schroefmachine|schroevendraaier|zaag|cirkelzaag|decoupeerzaag|kettingzaag|schuurmachine|slijptol|haakse slijper|tang|gereedschapskist|hogedrukreiniger\
            |trapano|trapano avvitatore|avvitatore|cacciavite|martello|sega|sega circolare|seghetto|motosega|levigatrice|smerigliatrice|pinza|cassetta attrezzi|scala|compressore|generatore|idropulitrice",
        ),
        (
            "outdoor",
            "lawn mower|lawnmower|grill|barbecue|bbq|hedge trimmer|leaf blower|tent|garden hose|patio set|parasol|trimmer|rasenmaher|mahroboter|gasgrill|heckenschere|laubblaser|zelt|gartenschlauch|sonnenschirm|rasentrimmer\
            |tondeuse|tondeuse a gazon|taille haie|souffleur|tente|tuyau d arrosage|cortacesped|barbacoa|cortasetos|soplador|tienda de campana|manguera|sombrilla|grasmaaier|heggenschaar|bladblazer|tuinslang|tosaerba|rasaerba|tagliasiepi|soffiatore|tagliaerba|ombrellone",
        ),
        (
            "kitchenware",
            "pan|frying pan|pot|saucepan|knife set|knife|cutlery|plate set|glasses|kettle|toaster|blender|mixer|hand mixer|food processor|air fryer|stand mixer|pressure cooker|rice cooker\
            |pfanne|kochtopf|topfset|messerset|besteck|geschirr|glaser|wasserkocher|toaster|standmixer|stabmixer|kuchenmaschine|kuechenmaschine|heissluftfritteuse|schnellkochtopf|reiskocher\
            |poele|casserole|cocotte|couteau|couverts|assiettes|verres|bouilloire|grille pain|mixeur|blender|robot de cuisine|friteuse|autocuiseur|sarten|olla|cuchillo|cuberteria|vajilla|hervidor|tostadora|batidora|robot de cocina|freidora|freidora de aire\
            |koekenpan|kookpan|pannenset|messenset|bestek|servies|glazen|waterkoker|broodrooster|staafmixer|keukenmachine|airfryer|padella|pentola|coltelli|posate|piatti|bicchieri|bollitore|tostapane|frullatore|robot da cucina|friggitrice",
        ),
        (
            "sports",
            "bicycle|bike|e bike|treadmill|dumbbell|skis|snowboard|tennis racket|golf clubs|kayak|helmet|yoga mat|exercise bike|rowing machine|fahrrad|pedelec|laufband|hantel|ski|tennisschlager|helm|heimtrainer|rudergerat\
            |velo|velo electrique|tapis de course|haltere|raquette|casque de velo|bicicleta|cinta de correr|mancuernas|raqueta|esquis|casco|fiets|elektrische fiets|loopband|bicicletta|bici|tapis roulant|manubri|racchetta|sci",
        ),
        (
            "clothing",
            "jacket|coat|shirt|t shirt|dress|trousers|jeans|shoes|boots|sneakers|sweater|suit|jacke|mantel|hemd|kleid|hose|schuhe|stiefel|pullover|anzug|veste|manteau|chemise|robe|pantalon|chaussures|bottes|pull|costume\
            |chaqueta|abrigo|camisa|vestido|pantalones|zapatos|botas|jersey|jas|overhemd|jurk|broek|schoenen|laarzen|trui|giacca|cappotto|camicia|vestito|pantaloni|scarpe|stivali|maglione",
        ),
        (
            "jewelry",
            "ring|necklace|bracelet|earrings|wristwatch|diamond|gold ring|armbanduhr|halskette|armband|ohrringe|ehering|diamant|bague|collier|boucles d oreilles|montre|alliance|anillo|collar|pulsera|pendientes|reloj\
            |horloge|ketting|oorbellen|trouwring|anello|collana|bracciale|orecchini|orologio",
        ),
        (
            "art",
            "painting|oil painting|sculpture|print signed|lithograph|gemalde|olgemalde|skulptur|lithografie|peinture|tableau|lithographie|cuadro|pintura|escultura|schilderij|beeldhouwwerk|dipinto|quadro|scultura",
        ),
    ])
});
