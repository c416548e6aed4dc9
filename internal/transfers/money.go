package transfers

// Amount is money in minor units of its currency: kobo, cents, fils, yen.
type Amount int64

// MaxAmount is the most that one order moves.
const MaxAmount Amount = 1_000_000_000_000

// Limits of texts, in code points.
const (
	MaxMemo = 140
	MaxName = 64
)

// Currency is a row of the registry.
type Currency struct {
	Code       string // ISO 4217 alphabetic code
	MinorUnits int    // decimal places of the minor unit: 2 for NGN, 0 for JPY, 3 for KWD
}

// minorUnits is the registry: the currencies in which accounts can be opened, with the minor units of ISO 4217 list one.
var minorUnits = map[string]int{
	"AED": 2, "AUD": 2, "BHD": 3, "BRL": 2, "CAD": 2, "CHF": 2, "CLP": 0, "CNY": 2, "CZK": 2, "DKK": 2,
	"EGP": 2, "EUR": 2, "GBP": 2, "GHS": 2, "HKD": 2, "INR": 2, "ISK": 0, "JOD": 3, "JPY": 0, "KES": 2,
	"KRW": 0, "KWD": 3, "MAD": 2, "MXN": 2, "NGN": 2, "NOK": 2, "NZD": 2, "OMR": 3, "PLN": 2, "RWF": 0,
	"SEK": 2, "SGD": 2, "TND": 3, "TZS": 2, "UGX": 0, "USD": 2, "XAF": 0, "XOF": 0, "ZAR": 2, "ZMW": 2,
}

// LookUpCurrency finds a currency by its code, which is upper case.
func LookUpCurrency(code string) (Currency, bool) {
	units, ok := minorUnits[code]
	return Currency{Code: code, MinorUnits: units}, ok
}
