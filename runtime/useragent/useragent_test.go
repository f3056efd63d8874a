package useragent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/runtime/useragent"
)

// Parts that most browsers say.
const (
	webKit  = ") AppleWebKit/537.36 (KHTML, like Gecko) "
	appleWK = ") AppleWebKit/605.1.15 (KHTML, like Gecko) "
	chrome  = "Chrome/140.0.0.0 Safari/537.36"
	phone   = "Chrome/140.0.0.0 Mobile Safari/537.36"
	mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7"
	win     = "Mozilla/5.0 (Windows NT 10.0; Win64; x64"
	iPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X"
)

var agents = []struct {
	name, userAgent string
	want            useragent.Agent
}{
	// Desktop.
	{"Chrome on a Mac", mac + webKit + chrome, useragent.Agent{"Chrome", "140", "Mac OS X", "10.15.7", "Desktop", false}},
	{
		"Safari on a Mac", mac + appleWK + "Version/17.4.1 Safari/605.1.15",
		useragent.Agent{"Safari", "17.4", "Mac OS X", "10.15.7", "Desktop", false},
	},
	{
		"Firefox on a Mac", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:128.0) Gecko/20100101 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "Mac OS X", "10.15", "Desktop", false},
	},
	{"Chrome on Windows", win + webKit + chrome, useragent.Agent{"Chrome", "140", "Windows", "10", "Desktop", false}},
	{"Edge on Windows", win + webKit + chrome + " Edg/140.0.3485.54", useragent.Agent{"Microsoft Edge", "140", "Windows", "10", "Desktop", false}},
	{
		"the first Edge", win + webKit + "Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763",
		useragent.Agent{"Microsoft Edge", "18.17763", "Windows", "10", "Desktop", false},
	},
	{"Opera on Windows", win + webKit + chrome + " OPR/115.0.0.0", useragent.Agent{"Opera", "115", "Windows", "10", "Desktop", false}},
	{
		"Firefox on Windows", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "Windows", "10", "Desktop", false},
	},
	{
		"Chrome on Windows 8.1", "Mozilla/5.0 (Windows NT 6.3; Win64; x64" + webKit + "Chrome/109.0.0.0 Safari/537.36",
		useragent.Agent{"Chrome", "109", "Windows", "8.1", "Desktop", false},
	},
	{
		"Chrome on Windows XP", "Mozilla/5.0 (Windows NT 5.1" + webKit + "Chrome/49.0.2623.112 Safari/537.36",
		useragent.Agent{"Chrome", "49", "Windows", "XP", "Desktop", false},
	},
	{
		"Firefox on Windows Vista", "Mozilla/5.0 (Windows NT 6.0; rv:52.0) Gecko/20100101 Firefox/52.9",
		useragent.Agent{"Firefox", "52.9", "Windows", "Vista", "Desktop", false},
	},
	{
		"Internet Explorer 11", "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; AS; rv:11.0) like Gecko",
		useragent.Agent{"Internet Explorer", "11", "Windows", "7", "Desktop", false},
	},
	{
		"Internet Explorer 10", "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
		useragent.Agent{"Internet Explorer", "10", "Windows", "8", "Desktop", false},
	},
	{
		"Internet Explorer on a Tablet PC", "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0; Tablet PC 2.0)",
		useragent.Agent{"Internet Explorer", "9", "Windows", "7", "Desktop", false},
	},
	{
		"the last Opera of its own engine", "Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18",
		useragent.Agent{"Opera", "12.18", "Windows", "7", "Desktop", false},
	},
	{
		"an Opera before version 10", "Opera/9.20 (Windows NT 6.0; U; en)",
		useragent.Agent{"Opera", "9.20", "Windows", "Vista", "Desktop", false},
	},
	{"Chrome on Linux", "Mozilla/5.0 (X11; Linux x86_64" + webKit + chrome, useragent.Agent{"Chrome", "140", "Linux", "", "Desktop", false}},
	{"Chrome on Linux, ARM", "Mozilla/5.0 (X11; Linux aarch64" + webKit + chrome, useragent.Agent{"Chrome", "140", "Linux", "", "Desktop", false}},
	{
		"Firefox on Ubuntu", "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "Linux", "", "Desktop", false},
	},
	{
		"Chrome without a window", "Mozilla/5.0 (X11; Linux x86_64" + webKit + "HeadlessChrome/140.0.0.0 Safari/537.36",
		useragent.Agent{"Chrome", "140", "Linux", "", "Desktop", false},
	},
	{
		"a Chromebook", "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0" + webKit + chrome,
		useragent.Agent{"Chrome", "140", "Chrome OS", "14541.0.0", "Desktop", false},
	},
	{
		"an Electron app", win + webKit + "Code/1.85.1 Chrome/114.0.5735.289 Electron/25.9.7 Safari/537.36",
		useragent.Agent{"Chrome", "114", "Windows", "10", "Desktop", false},
	},
	{
		"a system without a name here", "Mozilla/5.0 (X11; FreeBSD amd64; rv:128.0) Gecko/20100101 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "", "", "Desktop", false},
	},
	// iOS.
	{
		"Safari on an iPhone", iPhone + appleWK + "Version/17.4.1 Mobile/15E148 Safari/604.1",
		useragent.Agent{"Mobile Safari", "17.4", "iOS", "17.4.1", "Mobile", false},
	},
	{
		"Chrome on an iPhone", iPhone + appleWK + "CriOS/140.0.7339.101 Mobile/15E148 Safari/604.1",
		useragent.Agent{"Chrome iOS", "140", "iOS", "17.4.1", "Mobile", false},
	},
	{
		"Firefox on an iPhone", iPhone + appleWK + "FxiOS/128.0 Mobile/15E148 Safari/605.1.15",
		useragent.Agent{"Firefox iOS", "128", "iOS", "17.4.1", "Mobile", false},
	},
	{
		"Edge on an iPhone", iPhone + appleWK + "Version/17.0 EdgiOS/140.0.3485.54 Mobile/15E148 Safari/604.1",
		useragent.Agent{"Microsoft Edge", "140", "iOS", "17.4.1", "Mobile", false},
	},
	{
		"the Google app", iPhone + appleWK + "GSA/290.0.581137347 Mobile/15E148 Safari/604.1",
		useragent.Agent{"Mobile Safari", "", "iOS", "17.4.1", "Mobile", false},
	},
	{
		"Facebook's browser", iPhone + appleWK + "Mobile/20D47 [FBAN/FBIOS;FBAV/403.0.0.28;FBDV/iPhone14,5]",
		useragent.Agent{"Facebook Mobile", "403", "iOS", "17.4.1", "Mobile", false},
	},
	{"an app's web view", iPhone + appleWK + "Mobile/15E148", useragent.Agent{"", "", "iOS", "17.4.1", "Mobile", false}},
	{
		"Safari on an iPad", "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X" + appleWK + "Version/16.6 Mobile/15E148 Safari/604.1",
		useragent.Agent{"Mobile Safari", "16.6", "iOS", "16.6", "Tablet", false},
	},
	{
		"Firefox on an iPad that asks for desktop pages", mac + appleWK + "FxiOS/128.0 Safari/605.1.15",
		useragent.Agent{"Firefox iOS", "128", "iOS", "", "Tablet", false},
	},
	// Android.
	{
		"Chrome on a phone", "Mozilla/5.0 (Linux; Android 14; Pixel 8" + webKit + phone,
		useragent.Agent{"Chrome", "140", "Android", "14", "Mobile", false},
	},
	{
		"Chrome on a phone that hides its model", "Mozilla/5.0 (Linux; Android 10; K" + webKit + phone,
		useragent.Agent{"Chrome", "140", "Android", "10", "Mobile", false},
	},
	{
		"Chrome on a tablet", "Mozilla/5.0 (Linux; Android 10; K" + webKit + chrome,
		useragent.Agent{"Chrome", "140", "Android", "10", "Tablet", false},
	},
	{
		"Samsung's browser", "Mozilla/5.0 (Linux; Android 13; SM-S918B" + webKit + "SamsungBrowser/24.0 Chrome/117.0.0.0 Mobile Safari/537.36",
		useragent.Agent{"Samsung Internet", "24", "Android", "13", "Mobile", false},
	},
	{
		"Firefox on a phone", "Mozilla/5.0 (Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "Android", "14", "Mobile", false},
	},
	{
		"Firefox on a tablet", "Mozilla/5.0 (Android 14; Tablet; rv:128.0) Gecko/128.0 Firefox/128.0",
		useragent.Agent{"Firefox", "128", "Android", "14", "Tablet", false},
	},
	{
		"Edge on a phone", "Mozilla/5.0 (Linux; Android 10; HD1913" + webKit + phone + " EdgA/140.0.3485.54",
		useragent.Agent{"Microsoft Edge", "140", "Android", "10", "Mobile", false},
	},
	{
		"Opera on a phone", "Mozilla/5.0 (Linux; Android 10; VOG-L29" + webKit + phone + " OPR/76.2.4027.73374",
		useragent.Agent{"Opera", "76.2", "Android", "10", "Mobile", false},
	},
	{
		"Opera Mini", "Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16",
		useragent.Agent{"Opera Mini", "36.2", "Android", "", "Mobile", false},
	},
	{
		"UC Browser", "Mozilla/5.0 (Linux; U; Android 11; en-US; RMX3085" + webKit + "Version/4.0 Chrome/100.0.4896.58 UCBrowser/13.4.0.1306 Mobile Safari/537.36",
		useragent.Agent{"UC Browser", "13.4", "Android", "11", "Mobile", false},
	},
	{
		"an app's web view on Android", "Mozilla/5.0 (Linux; Android 14; SM-G991B; wv" + webKit + "Version/4.0 " + phone,
		useragent.Agent{"Chrome", "140", "Android", "14", "Mobile", false},
	},
	{
		"the browser of old Android", "Mozilla/5.0 (Linux; U; Android 4.0.3; en-us; GT-P5100 Build/IML74K) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Safari/534.30",
		useragent.Agent{"Android Mobile", "4", "Android", "4.0.3", "Tablet", false},
	},
	{
		"an Android app", "Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B Build/TP1A.220624.014)",
		useragent.Agent{"", "", "Android", "13", "Mobile", false},
	},
	// Others.
	{
		"Edge on Windows Phone", "Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950" + webKit + "Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15063",
		useragent.Agent{"Microsoft Edge", "15.15063", "Windows Phone", "10.0", "Mobile", false},
	},
	{
		"Internet Explorer on Windows Phone", "Mozilla/5.0 (compatible; MSIE 10.0; Windows Phone 8.0; Trident/6.0; IEMobile/10.0; ARM; Touch; NOKIA; Lumia 920)",
		useragent.Agent{"Internet Explorer Mobile", "10", "Windows Phone", "8.0", "Mobile", false},
	},
	{
		"Internet Explorer that passes for others", "Mozilla/5.0 (Mobile; Windows Phone 8.1; Android 4.0; ARM; Trident/7.0; Touch; rv:11.0; IEMobile/11.0; " +
			"NOKIA; Lumia 520) like iPhone OS 7_0_3 Mac OS X AppleWebKit/537 (KHTML, like Gecko) Mobile Safari/537",
		useragent.Agent{"Internet Explorer Mobile", "11", "Windows Phone", "", "Mobile", false},
	},
	{
		"BlackBerry", "Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ (KHTML, like Gecko) Version/10.0.9.2372 Mobile Safari/537.10+",
		useragent.Agent{"BlackBerry", "10", "BlackBerry", "", "Mobile", false},
	},
	{
		"a feature phone", "Mozilla/5.0 (Mobile; LYF/F120B/LYF-F120B-001; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5",
		useragent.Agent{"Firefox", "48", "", "", "Mobile", false},
	},
	// Crawlers.
	{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", useragent.Agent{Bot: true}},
	{
		"Googlebot as a browser", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) " + chrome,
		useragent.Agent{Bot: true},
	},
	{
		"Googlebot as a phone", "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P" + webKit + phone + " (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		useragent.Agent{Bot: true},
	},
	{
		"Applebot", mac + appleWK + "Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
		useragent.Agent{Bot: true},
	},
	{
		"Bytespider", "Mozilla/5.0 (Linux; Android 5.0" + webKit + "Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
		useragent.Agent{Bot: true},
	},
	{"Facebook's preview", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", useragent.Agent{Bot: true}},
	// No browser.
	{"nothing", "", useragent.Agent{}},
	{"Mozilla alone", "Mozilla/5.0", useragent.Agent{}},
	{"an open parenthesis", "Mozilla/5.0 (", useragent.Agent{}},
	{"posthog-node", "posthog-node/5.70.0", useragent.Agent{}},
	{"posthog-python", "posthog-python/7.42.0", useragent.Agent{}},
	{"posthog-dotnet", "posthog-dotnet/2.13.3 (.NET 10.0.0; Ubuntu 24.04; X64)", useragent.Agent{}},
	{"posthog-ios", "posthog-ios/3.69.3", useragent.Agent{}},
	{"posthog-android", "posthog-android/3.20.0", useragent.Agent{}},
	{"curl", "curl/8.5.0", useragent.Agent{}},
	{"python-requests", "python-requests/2.32.3", useragent.Agent{}},
	{"Go", "Go-http-client/2.0", useragent.Agent{}},
	{"okhttp", "okhttp/4.12.0", useragent.Agent{}},
}

func TestParse(t *testing.T) {
	for _, tt := range agents {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, useragent.Parse(tt.userAgent)); diff != "" {
				t.Errorf("Parse(%q) differs (-want +got):\n%s", tt.userAgent, diff)
			}
		})
	}
}

func TestParseVersions(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"140.0.0.0", "140"},
		{"140", "140"},
		{"17.4.1", "17.4"},
		{"17.10", "17.10"},
		{"17.00.1", "17"},
		{"17.", "17"},
		{"17..4", "17"},
		{"17-beta", "17"},
		{".5", ""},
		{"x", ""},
		{"", ""},
	} {
		if got := useragent.Parse("Mozilla/5.0 Firefox/" + tt.text).BrowserVersion; got != tt.want {
			t.Errorf("version %q is read as %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	head := mac + webKit
	at := func(n int) useragent.Agent {
		return useragent.Parse(head + strings.Repeat("x", n-len(head)) + " " + chrome)
	}
	if got := at(900); got.Browser != "Chrome" {
		t.Errorf("a browser at byte 900 is read as %+v, want Chrome", got)
	}
	if got := at(1024); got.Browser != "" || got.OS != "Mac OS X" {
		t.Errorf("a browser beyond byte 1,024 is read as %+v, want the system only", got)
	}
}

func TestPanicsDoNotEscape(t *testing.T) {
	got := useragent.Safely(func(string) useragent.Agent { panic("parser") }, "x")
	if got != (useragent.Agent{}) {
		t.Errorf("after a panic Parse = %+v, want the zero Agent", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range agents {
		f.Add(tt.userAgent)
	}
	systems := []string{"", "Windows", "Mac OS X", "Linux", "Chrome OS", "iOS", "Android", "Windows Phone", "BlackBerry"}
	f.Fuzz(func(t *testing.T, ua string) {
		a := useragent.Parse(ua)
		if !slices.Contains(systems, a.OS) || a.OS == "" && a.OSVersion != "" {
			t.Errorf("Parse(%q): system %q %q", ua, a.OS, a.OSVersion)
		}
		if a.Browser == "" && a.BrowserVersion != "" || strings.Trim(a.BrowserVersion, ".0123456789") != "" {
			t.Errorf("Parse(%q): browser %q %q", ua, a.Browser, a.BrowserVersion)
		}
		if !slices.Contains([]string{"", "Desktop", "Mobile", "Tablet"}, a.DeviceType) {
			t.Errorf("Parse(%q): device %q", ua, a.DeviceType)
		}
		if (a.DeviceType == "") != (a.Browser == "" && a.OS == "") {
			t.Errorf("Parse(%q) = %+v, want a device with a browser or system, and only then", ua, a)
		}
		if a.Bot && a != (useragent.Agent{Bot: true}) {
			t.Errorf("Parse(%q) = %+v, want nothing but Bot", ua, a)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, tt := range []struct{ name, userAgent string }{
		{"browser", mac + webKit + chrome},
		{"SDK", "posthog-node/5.70.0"},
		{"long", strings.Repeat(mac+webKit, 100)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				useragent.Parse(tt.userAgent)
			}
		})
	}
}
