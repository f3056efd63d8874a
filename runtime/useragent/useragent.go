package useragent

import (
	"strings"

	"github.com/mssola/useragent"
)

// An Agent is what a User-Agent says about its sender. Fields that it does not
// tell are empty.
type Agent struct {
	// Browser is a name such as "Chrome", "Chrome iOS", "Safari", "Mobile
	// Safari", "Firefox", "Microsoft Edge" or "Opera".
	Browser string

	// BrowserVersion is the major version, and the minor one if it is not 0:
	// "140", "17.4". It is a number, which conditions can compare.
	BrowserVersion string

	// OS is "Windows", "Mac OS X", "Linux", "Chrome OS", "iOS", "Android",
	// "Windows Phone" or "BlackBerry".
	OS string

	// OSVersion is a version as the system has it: "10.15.7", "17.4.1", "XP".
	// Browsers tell it less and less: "10.15.7" and "10" may be any later one.
	OSVersion string

	// DeviceType is "Desktop", "Mobile" or "Tablet".
	DeviceType string

	// Bot says that the sender is a crawler by its own account. All other
	// fields are empty then.
	Bot bool
}

// maxLength is how much of a User-Agent is looked at, in bytes. Real ones have
// 100 to 300.
const maxLength = 1024

// Parse reads a User-Agent. It accepts anything and looks at the first 1,024
// bytes.
func Parse(ua string) Agent {
	return safely(agentOf, ua[:min(len(ua), maxLength)])
}

// safely keeps a panic of the parser, which is third-party code that sees
// whatever the network sends, from taking the request down.
func safely(parse func(string) Agent, ua string) (a Agent) {
	defer func() {
		if recover() != nil {
			a = Agent{}
		}
	}()
	return parse(ua)
}

func agentOf(ua string) Agent {
	p := useragent.New(ua)
	if p.Bot() || isCrawler(ua) {
		return Agent{Bot: true}
	}
	// Browsers, old Opera, and apps on Android. The parser takes every other
	// first word for a browser.
	if !strings.HasPrefix(ua, "Mozilla/") && !strings.HasPrefix(ua, "Opera/") && !strings.HasPrefix(ua, "Dalvik/") {
		return Agent{}
	}
	var a Agent
	a.OS, a.OSVersion = system(p, ua)
	a.Browser, a.BrowserVersion = browser(p, ua, a.OS)
	if a != (Agent{}) {
		a.DeviceType = device(ua, a.OS)
	}
	return a
}

// isCrawler finds the crawlers that the parser takes for the browser that they
// imitate: they give the address of an explanation, or call themselves so.
func isCrawler(ua string) bool {
	for _, mark := range []string{"+http://", "+https://", "bot/", "Bot/", "spider"} {
		if strings.Contains(ua, mark) {
			return true
		}
	}
	return false
}

// browsers lists tokens in the order in which they decide: most browsers also carry
// the tokens of the browsers that they descend from. The version stands behind the
// token.
var browsers = []struct{ token, name string }{
	{"Opera Mini/", "Opera Mini"},
	{"OPR/", "Opera"},
	{"OPT/", "Opera"},
	{"OPiOS/", "Opera"},
	{"IEMobile/", "Internet Explorer Mobile"},
	{"Edg/", "Microsoft Edge"},
	{"EdgA/", "Microsoft Edge"},
	{"EdgiOS/", "Microsoft Edge"},
	{"Edge/", "Microsoft Edge"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"UCBrowser/", "UC Browser"},
	{"FBIOS;FBAV/", "Facebook Mobile"},
	{"CriOS/", "Chrome iOS"},
	{"FxiOS/", "Firefox iOS"},
	{"Chrome/", "Chrome"}, // HeadlessChrome, Electron and web views, too
	{"Firefox/", "Firefox"},
}

func browser(p *useragent.UserAgent, ua, os string) (name, version string) {
	for _, b := range browsers {
		if _, rest, ok := strings.Cut(ua, b.token); ok {
			return b.name, majorMinor(rest)
		}
	}
	// These have their version elsewhere.
	_, versionToken, hasVersion := strings.Cut(ua, "Version/")
	name, version = p.Browser()
	switch {
	case name == "Internet Explorer":
	case name == "Opera":
		if hasVersion { // Opera/9.80 is what all versions from 10 on say
			version = versionToken
		}
	case !strings.Contains(ua, "Safari/"):
		return "", ""
	default:
		version = versionToken
		switch os {
		case "iOS":
			name = "Mobile Safari"
		case "Android":
			name = "Android Mobile"
		case "BlackBerry":
			name = "BlackBerry"
		default:
			name = "Safari"
		}
	}
	return name, majorMinor(version)
}

// majorMinor returns the first number at the start of s, and the second one if
// it is not 0.
func majorMinor(s string) string {
	major, rest, _ := strings.Cut(numeric(s), ".")
	minor, _, _ := strings.Cut(rest, ".")
	if major == "" || strings.Trim(minor, "0") == "" {
		return major
	}
	return s[:len(major)+1+len(minor)]
}

// numeric returns the digits and dots at the start of s.
func numeric(s string) string {
	for i := range len(s) {
		if c := s[i]; c != '.' && c-'0' > 9 {
			return s[:i]
		}
	}
	return s
}

func system(p *useragent.UserAgent, ua string) (name, version string) {
	info := p.OSInfo()
	version = strings.Trim(numeric(info.Version), ".")
	switch platform := p.Platform(); {
	case strings.HasPrefix(info.Name, "Windows Phone") || strings.Contains(ua, "Windows Phone"):
		name = "Windows Phone"
		if info.Name != name {
			version = ""
		}
	case platform == "Windows":
		name = "Windows"
		if info.Version == "XP" || info.Version == "Vista" {
			version = info.Version
		}
	case platform == "iPhone" || platform == "iPad" || platform == "iPod" || platform == "iPod touch":
		name = "iOS"
		if info.Name == "Mac OS X" { // an iPad that asks for desktop pages
			version = ""
		}
	case info.Name == "Mac OS X" || platform == "Macintosh":
		name = "Mac OS X"
	case info.Name == "Android" || platform == "Android":
		name = "Android"
	case strings.HasPrefix(info.Name, "CrOS"):
		name = "Chrome OS"
	case platform == "BlackBerry":
		name = "BlackBerry"
	case strings.Contains(ua, "Linux"):
		name, version = "Linux", ""
	default:
		version = ""
	}
	return name, version
}

func device(ua, os string) string {
	mobile := strings.Contains(ua, "Mobi")
	switch {
	case strings.Contains(ua, "iPad"), strings.Contains(ua, "Tablet") && os != "Windows":
		return "Tablet" // "Tablet PC" is an old Windows on anything
	case (os == "Android" || os == "iOS") && !mobile && strings.HasPrefix(ua, "Mozilla/"):
		return "Tablet" // browsers on phones say Mobile
	case mobile || os == "Android" || os == "iOS" || os == "Windows Phone" || os == "BlackBerry":
		return "Mobile"
	default:
		return "Desktop"
	}
}
