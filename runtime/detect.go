package runtime

import "strings"

// A Header is where signals are read from. The standard library's http.Header
// is one.
type Header interface {
	// Get returns the first value of the named header, "" if there is none.
	Get(name string) string
}

// Signals are what is known about the sender of a request.
type Signals struct {
	// UserAgent is the User-Agent header.
	UserAgent string

	// Browser says that at least one header is present that browsers send:
	// Origin, Referer, Sec-Fetch-Mode or Sec-Fetch-Site.
	Browser bool
}

// SignalsOf reads the signals from a request's headers. A header with an empty
// value counts as absent. A nil Header has no signals.
func SignalsOf(h Header) Signals {
	if h == nil {
		return Signals{}
	}
	return Signals{
		UserAgent: h.Get("User-Agent"),
		Browser: h.Get("Origin") != "" || h.Get("Referer") != "" ||
			h.Get("Sec-Fetch-Mode") != "" || h.Get("Sec-Fetch-Site") != "",
	}
}

// A Detector finds out the kind of a request. The zero Detector knows the
// products posthog and svc.
type Detector struct {
	// Products are the names with which SDKs introduce themselves, as in
	// <product>-<sdk>/<version>. Their case counts; empty names are ignored.
	// None: posthog and svc.
	Products []string
}

var defaultProducts = []string{"posthog", "svc"}

// Detect returns Client, Server or Unknown. The User-Agent decides; the browser
// headers count only if it says nothing. In the User-Agent a product's SDK
// comes before a browser, and a browser before a tool. Of several SDKs the
// first one counts. It does not allocate.
func (d Detector) Detect(s Signals) Kind {
	products := d.Products
	if len(products) == 0 {
		products = defaultProducts
	}
	browser, tool := false, false
	// Every token ends with a slash, so only what stands before one is looked
	// at. That makes one pass for any number of products.
	for rest, end := s.UserAgent, 0; ; {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			break
		}
		end += i
		before := s.UserAgent[:end] // all of the User-Agent up to this slash
		end++
		rest = rest[i+1:]

		if product, kind := cutSDK(before); kind != Unknown {
			for _, p := range products {
				if p != "" && strings.HasSuffix(product, p) {
					return kind
				}
			}
		}
		browser = browser || isBrowser(before)
		tool = tool || strings.HasSuffix(before, "curl") || strings.HasSuffix(before, "python-requests")
	}
	switch {
	case browser:
		return Client
	case tool:
		return Server
	case s.Browser:
		return Client
	default:
		return Unknown
	}
}

// cutSDK cuts "-<sdk>" from the end of s and returns what was before it, and
// the kind of the SDK. The kind is Unknown if s does not end with one.
func cutSDK(s string) (before string, kind Kind) {
	const maxProduct = len("flutter") // of the names as far as there is no hyphen
	start := len(s)
	for start > 0 && len(s)-start <= maxProduct && 'a' <= s[start-1] && s[start-1] <= 'z' {
		start--
	}
	if start == 0 || s[start-1] != '-' {
		return "", Unknown
	}
	before = s[:start-1]
	switch s[start:] {
	case "python", "ruby", "php", "java", "go", "node", "dotnet", "elixir", // api.md §4.4
		"rs", "server": // public SDKs that api.md does not list
		return before, Server
	case "android", "ios", "flutter", "js":
		return before, Client
	case "native":
		if before, ok := strings.CutSuffix(before, "-react"); ok {
			return before, Client
		}
	}
	return "", Unknown
}

func isBrowser(s string) bool {
	if s == "" {
		return false
	}
	switch s[len(s)-1] { // spares four of five comparisons
	case 'a':
		return strings.HasSuffix(s, "Mozilla")
	case 'e':
		return strings.HasSuffix(s, "Chrome") || strings.HasSuffix(s, "Edge")
	case 'i':
		return strings.HasSuffix(s, "Safari")
	case 'x':
		return strings.HasSuffix(s, "Firefox")
	}
	return false
}
