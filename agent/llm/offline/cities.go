package offline

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// cities are zones, each followed by the places beside the one that names it.
const cities = `
Africa/Abidjan; Africa/Accra; Africa/Addis_Ababa; Africa/Algiers; Africa/Cairo=alexandria,egypt; Africa/Casablanca=marrakesh,rabat;
Africa/Dakar; Africa/Dar_es_Salaam; Africa/Johannesburg=cape town,durban,pretoria; Africa/Kampala; Africa/Lagos=abuja; Africa/Nairobi=kenya; Africa/Tunis;
America/Anchorage; America/Argentina/Buenos_Aires=argentina; America/Bogota=colombia; America/Caracas; America/Chicago=austin,dallas,houston,minneapolis,new orleans;
America/Denver=salt lake city; America/Detroit; America/Edmonton=calgary; America/Halifax; America/Havana; America/La_Paz; America/Lima=peru;
America/Los_Angeles=la,las vegas,portland,san diego,san francisco,san jose,seattle,silicon valley; America/Mexico_City; America/Montevideo;
America/New_York=atlanta,boston,miami,nyc,new york city,orlando,philadelphia,pittsburgh,washington,washington dc; America/Panama; America/Phoenix;
America/Santiago=chile; America/Sao_Paulo=são paulo,brasilia,brasília,rio de janeiro,rio; America/St_Johns; America/Toronto=montreal,ottawa,quebec; America/Vancouver;
Asia/Almaty; Asia/Baghdad; Asia/Baku; Asia/Bangkok=thailand; Asia/Beirut; Asia/Colombo; Asia/Damascus; Asia/Dhaka; Asia/Dubai=abu dhabi; Asia/Ho_Chi_Minh=hanoi,saigon,vietnam;
Asia/Hong_Kong=hongkong; Asia/Jakarta; Asia/Jerusalem=israel,tel aviv; Asia/Kabul; Asia/Karachi=islamabad,lahore,pakistan; Asia/Kathmandu; Asia/Kuala_Lumpur;
Asia/Kolkata=bangalore,bengaluru,chennai,delhi,hyderabad,india,mumbai,new delhi,pune; Asia/Kuwait; Asia/Manila; Asia/Novosibirsk; Asia/Qatar=doha; Asia/Riyadh=jeddah,mecca;
Asia/Seoul=busan,korea,south korea; Asia/Shanghai=beijing,china,chengdu,guangzhou,shenzhen; Asia/Singapore; Asia/Taipei=taiwan; Asia/Tashkent; Asia/Tbilisi;
Asia/Tehran; Asia/Tokyo=japan,kobe,kyoto,nagoya,osaka,sapporo,yokohama; Asia/Vladivostok; Asia/Yangon; Asia/Yerevan; Atlantic/Azores; Atlantic/Canary; Atlantic/Reykjavik=iceland;
Australia/Adelaide; Australia/Brisbane; Australia/Darwin; Australia/Hobart; Australia/Melbourne; Australia/Perth; Australia/Sydney=canberra;
Europe/Amsterdam=netherlands,rotterdam,the hague; Europe/Athens=greece; Europe/Belgrade; Europe/Berlin=cologne,düsseldorf,frankfurt,germany,hamburg,munich,münchen,stuttgart;
Europe/Bratislava; Europe/Brussels=antwerp,belgium; Europe/Bucharest; Europe/Budapest; Europe/Copenhagen=denmark; Europe/Dublin=ireland; Europe/Helsinki=finland; Europe/Istanbul=ankara,turkey;
Europe/Kyiv=kiev,ukraine; Europe/Lisbon=porto,portugal; Europe/Ljubljana; Europe/London=edinburgh,england,glasgow,liverpool,manchester,uk; Europe/Luxembourg; Europe/Madrid=barcelona,seville,spain,valencia;
Europe/Malta; Europe/Moscow=st petersburg; Europe/Oslo=norway; Europe/Paris=france,lyon,marseille,nice,toulouse; Europe/Prague; Europe/Riga; Europe/Rome=bologna,florence,italy,milan,milano,naples,palermo,roma,turin,venice;
Europe/Sarajevo; Europe/Sofia; Europe/Stockholm=gothenburg,sweden; Europe/Tallinn; Europe/Vienna=austria,graz,salzburg,wien; Europe/Vilnius; Europe/Warsaw=krakow,kraków,poland; Europe/Zagreb;
Europe/Zurich=basel,bern,geneva,switzerland,zürich; Pacific/Auckland=new zealand,wellington; Pacific/Fiji; Pacific/Honolulu=hawaii; Pacific/Tahiti; UTC=gmt,zulu`

// byCity are the zones by place, in lower case.
var byCity = sync.OnceValue(func() map[string]string {
	zones := make(map[string]string, 300)
	for entry := range strings.SplitSeq(cities, ";") {
		zone, others, _ := strings.Cut(strings.TrimSpace(entry), "=")
		own := zone[strings.LastIndex(zone, "/")+1:]
		zones[strings.ToLower(strings.ReplaceAll(own, "_", " "))] = zone
		for place := range strings.SplitSeq(others, ",") {
			zones[place] = zone
		}
	}
	delete(zones, "")
	return zones
})

var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z0-9_+-]+){1,2}$`)

// findZone knows a place, or an IANA zone as it is written. An unknown place has
// no zone.
func findZone(place string) (name, zone string) {
	if zoneName.MatchString(place) {
		return strings.ReplaceAll(place[strings.LastIndex(place, "/")+1:], "_", " "), place
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(place, "the "), ",") // "Paris, France"
	low := strings.ToLower(name)
	for _, low := range []string{low, "the " + low, strings.TrimSuffix(low, " city")} {
		zone = cmp.Or(zone, byCity()[low])
	}
	if name != low {
		return name, zone // as the person wrote it
	}
	words := strings.Fields(low)
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " "), zone
}
