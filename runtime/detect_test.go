package runtime_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/runtime"
)

const chrome = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

var detections = []struct {
	name, userAgent string
	browser         bool // the headers say browser
	want            runtime.Kind
}{
	// Server SDKs, wire.md §1.2.
	{"python", "posthog-python/7.42.0", false, runtime.Server},
	{"ruby", "posthog-ruby/3.23.2", false, runtime.Server},
	{"php", "posthog-php/4.13.2", false, runtime.Server},
	{"java", "posthog-java/1.2.0", false, runtime.Server},
	{"go", "posthog-go/1.23.1", false, runtime.Server},
	{"node", "posthog-node/5.70.0", false, runtime.Server},
	{"dotnet", "posthog-dotnet/2.13.3 (.NET 10.0.0; Ubuntu 24.04; X64)", false, runtime.Server},
	{"elixir", "posthog-elixir/2.14.1", false, runtime.Server},
	{"rs", "posthog-rs/0.21.0", false, runtime.Server},
	{"server", "posthog-server/2.1.0", false, runtime.Server},
	// Client SDKs.
	{"js", "posthog-js/1.449.2", false, runtime.Client},
	{"android", "posthog-android/3.20.0", false, runtime.Client},
	{"ios", "posthog-ios/3.69.3", false, runtime.Client},
	{"react-native", "posthog-react-native/4.5.0", false, runtime.Client},
	{"flutter", "posthog-flutter/5.1.0", false, runtime.Client},
	// The other product name of the default set.
	{"svc server", "svc-python/1.0", false, runtime.Server},
	{"svc client", "svc-react-native/1.0", false, runtime.Client},
	// Browsers and tools.
	{"Chrome", chrome, false, runtime.Client},
	{"Mozilla alone", "Mozilla/5.0", false, runtime.Client},
	{"Chrome token alone", "x Chrome/1", false, runtime.Client},
	{"Safari token alone", "Safari/605.1.15", false, runtime.Client},
	{"Firefox token alone", "Firefox/140.0", false, runtime.Client},
	{"Edge token alone", "Edge/18.19041", false, runtime.Client},
	{"python-requests", "python-requests/2.32.3", false, runtime.Server},
	{"curl", "curl/8.5.0", false, runtime.Server},
	// Anything else.
	{"nothing", "", false, runtime.Unknown},
	{"headers alone", "", true, runtime.Client},
	{"the edge build matches no rule", "posthog-edge/5.70.0", false, runtime.Unknown},
	{"the edge build with headers", "posthog-edge/5.70.0", true, runtime.Client},
	{"an unknown agent", "Go-http-client/2.0", false, runtime.Unknown},
	{"an unknown agent with headers", "Go-http-client/2.0", true, runtime.Client},
	// Precedence.
	{"an SDK before the headers", "posthog-node/5.70.0", true, runtime.Server},
	{"a tool before the headers", "curl/8.5.0", true, runtime.Server},
	{"an SDK before a browser before it", chrome + " posthog-node/5.70.0", false, runtime.Server},
	{"an SDK before a browser behind it", "posthog-python/7.42.0 Mozilla/5.0", false, runtime.Server},
	{"a client SDK before a tool", "curl/8.5.0 posthog-ios/3.69.3", false, runtime.Client},
	{"a browser before a tool", "curl/8.5.0 Mozilla/5.0", false, runtime.Client},
	{"the first of two SDKs", "posthog-go/1.0 posthog-ios/3.0", false, runtime.Server},
	{"the first of two SDKs, the other way round", "posthog-ios/3.0 posthog-go/1.0", false, runtime.Client},
	// Tokens stand anywhere, but whole and with their case.
	{"an SDK inside a longer agent", "shop/2.1 (posthog-ios/3.69.3; iPhone)", false, runtime.Client},
	{"letters before the product", "myposthog-go/1", false, runtime.Server},
	{"the product in capitals", "PostHog-go/1", false, runtime.Unknown},
	{"the SDK in capitals", "posthog-Go/1", false, runtime.Unknown},
	{"a browser in lower case", "mozilla/5.0", false, runtime.Unknown},
	{"no slash", "posthog-go", false, runtime.Unknown},
	{"a blank before the slash", "posthog-go /1", false, runtime.Unknown},
	{"no product", "-go/1", false, runtime.Unknown},
	{"no SDK", "posthog-/1", false, runtime.Unknown},
	{"no hyphen", "posthoggo/1", false, runtime.Unknown},
	{"another product", "acme-go/1", false, runtime.Unknown},
	{"an SDK with a longer name", "posthog-gopher/1", false, runtime.Unknown},
	{"an SDK with a much longer name", "posthog-supercalifragilistic/1", false, runtime.Unknown},
	{"an SDK with one letter too many", "posthog-fflutter/1", false, runtime.Unknown},
	{"react-native without the product", "react-native/1", false, runtime.Unknown},
	{"native alone", "posthog-native/1", false, runtime.Unknown},
	{"react-native of another product", "acme-react-native/1", false, runtime.Unknown},
	{"only slashes", "////", false, runtime.Unknown},
	{"a second slash", "posthog-go//1", false, runtime.Server},
}

func TestDetect(t *testing.T) {
	for _, tt := range detections {
		t.Run(tt.name, func(t *testing.T) {
			s := runtime.Signals{UserAgent: tt.userAgent, Browser: tt.browser}
			if got := (runtime.Detector{}).Detect(s); got != tt.want {
				t.Errorf("Detect(%+v) = %v, want %v", s, got, tt.want)
			}
		})
	}
}

func TestDetectProducts(t *testing.T) {
	for _, tt := range []struct {
		name, userAgent string
		products        []string
		want            runtime.Kind
	}{
		{"the product", "acme-go/1", []string{"acme"}, runtime.Server},
		{"one of several", "acme-flutter/1", []string{"other", "acme"}, runtime.Client},
		{"the default ones are replaced", "posthog-go/1", []string{"acme"}, runtime.Unknown},
		{"browsers stay", "Mozilla/5.0", []string{"acme"}, runtime.Client},
		{"an empty list is the default", "svc-go/1", []string{}, runtime.Server},
		{"a hyphen in the product", "acme-flags-react-native/1", []string{"acme-flags"}, runtime.Client},
		{"the end of another product", "acme-flags-go/1", []string{"acme"}, runtime.Unknown},
		{"a product that ends like an SDK", "acme-react-native/1", []string{"acme-react"}, runtime.Unknown},
		{"a slash in the product", "acme/flags-go/1", []string{"acme/flags"}, runtime.Server},
		{"case counts", "Acme-go/1", []string{"acme"}, runtime.Unknown},
		{"empty names are ignored", "x-go/1", []string{""}, runtime.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := runtime.Detector{Products: tt.products}
			if got := d.Detect(runtime.Signals{UserAgent: tt.userAgent}); got != tt.want {
				t.Errorf("%+v.Detect(%q) = %v, want %v", d, tt.userAgent, got, tt.want)
			}
		})
	}
}

func TestSignalsOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header runtime.Header
		want   runtime.Signals
	}{
		{"no headers", http.Header{}, runtime.Signals{}},
		{"nil headers", http.Header(nil), runtime.Signals{}},
		{"nil", nil, runtime.Signals{}},
		{"user agent", http.Header{"User-Agent": {"curl/8"}}, runtime.Signals{UserAgent: "curl/8"}},
		{"origin", http.Header{"Origin": {"null"}}, runtime.Signals{Browser: true}},
		{"referer", http.Header{"Referer": {"https://example.com/"}}, runtime.Signals{Browser: true}},
		{"fetch mode", http.Header{"Sec-Fetch-Mode": {"cors"}}, runtime.Signals{Browser: true}},
		{"fetch site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, runtime.Signals{Browser: true}},
		{"an empty value is none", http.Header{"Origin": {""}}, runtime.Signals{}},
		{"fetch destination is not a signal", http.Header{"Sec-Fetch-Dest": {"empty"}}, runtime.Signals{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, runtime.SignalsOf(tt.header)); diff != "" {
				t.Errorf("SignalsOf(%v) differs (-want +got):\n%s", tt.header, diff)
			}
		})
	}
}

func TestDetectDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	custom := runtime.Detector{Products: []string{"acme", "acme-flags"}}
	header := http.Header{"User-Agent": {chrome}, "Sec-Fetch-Site": {"cross-site"}}
	for _, tt := range detections {
		if n := testing.AllocsPerRun(10, func() {
			s := runtime.SignalsOf(header)
			s.UserAgent = tt.userAgent
			runtime.Detector{}.Detect(s)
			custom.Detect(s)
		}); n != 0 {
			t.Errorf("%s: Detect allocates %v times, want 0", tt.name, n)
		}
	}
}

// detect is Detector.Detect as the documents have it: one search per token.
func detect(products []string, s runtime.Signals) runtime.Kind {
	sdks := []struct {
		kind  runtime.Kind
		names string
	}{
		{runtime.Server, "python ruby php java go node dotnet elixir rs server"},
		{runtime.Client, "js android ios react-native flutter"},
	}
	first, kind := len(s.UserAgent), runtime.Unknown
	for _, product := range products {
		for _, sdk := range sdks {
			for name := range strings.FieldsSeq(sdk.names) {
				token := product + "-" + name + "/"
				// The first token is the one that ends first.
				if i := strings.Index(s.UserAgent, token); product != "" && i >= 0 && i+len(token) <= first {
					first, kind = i+len(token), sdk.kind
				}
			}
		}
	}
	if kind != runtime.Unknown {
		return kind
	}
	for _, token := range []string{"Mozilla/", "Chrome/", "Safari/", "Firefox/", "Edge/"} {
		if strings.Contains(s.UserAgent, token) {
			return runtime.Client
		}
	}
	for _, token := range []string{"python-requests/", "curl/"} {
		if strings.Contains(s.UserAgent, token) {
			return runtime.Server
		}
	}
	if s.Browser {
		return runtime.Client
	}
	return runtime.Unknown
}

func FuzzDetect(f *testing.F) {
	for _, tt := range detections {
		f.Add(tt.userAgent, tt.browser, "acme", "acme-react")
		f.Add(strings.ReplaceAll(tt.userAgent, "posthog", "acme"), tt.browser, "acme", "")
	}
	f.Fuzz(func(t *testing.T, userAgent string, browser bool, product1, product2 string) {
		s := runtime.Signals{UserAgent: userAgent, Browser: browser}
		if got, want := (runtime.Detector{}).Detect(s), detect([]string{"posthog", "svc"}, s); got != want {
			t.Fatalf("Detect(%+v) = %v, want %v", s, got, want)
		}
		products := []string{product1, product2}
		if got, want := (runtime.Detector{Products: products}).Detect(s), detect(products, s); got != want {
			t.Fatalf("Detector{%q}.Detect(%+v) = %v, want %v", products, s, got, want)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	for _, tt := range []struct{ name, userAgent string }{
		{"browser", chrome},
		{"SDK", "posthog-node/5.70.0"},
		{"unknown", "Go-http-client/2.0"},
	} {
		s := runtime.Signals{UserAgent: tt.userAgent, Browser: true}
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				runtime.Detector{}.Detect(s)
			}
		})
		// The floor: one search per token.
		products := []string{"posthog", "svc"}
		b.Run(tt.name+"/naive", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				detect(products, s)
			}
		})
	}
}
