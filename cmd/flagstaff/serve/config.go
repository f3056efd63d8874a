package serve

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server"
)

// settings has the settings from the command line and the environment.
type settings struct {
	addr            string
	socketMode      fileMode
	tlsCert         string
	tlsKey          string
	maxConnections  whole
	store           string
	stream          stream
	flagsFile       string
	geoip           string
	projectKey      string
	demo            bool
	quota           allowance
	setQuota        ownQuota
	eventQuota      allowance
	trustedProxies  prefixes
	products        words
	rateLimit       limit
	rateLimitIP     limit
	maxBody         size
	maxBodyMemory   size
	maxEvent        size
	maxStreams      whole
	storeTimeout    duration
	shutdownTimeout duration
	drain           duration

	adminEmail       string
	createKey        string
	keyScopes        words
	secretKeyFile    string
	withoutSecrets   bool
	firstKeys        string
	appURL           string
	smtp             string
	mailDir          string
	mailFrom         string
	summaries        summaries
	mutations        choice
	retain           retention
	sessionIdle      duration
	sessionLife      duration
	deleteUsers      choice
	deleteEmpty      bool
	hideBackupCodes  bool
	verifyByCode     bool
	revokeKeys       bool
	nativeTypes      bool
	allowKeyInBody   bool
	managementOrigin words
	debugAddr        string
	publicMetrics    bool
	accessLog        share
	logFormat        choice
	logLevel         level
	checkOnly        bool
	version          bool
	configFile       string

	inFile  []fileSetting     // of -config
	sources map[string]string // what errors call a setting, by its option, if the command line does not set it
	wrong   map[string]bool   // options of which settings has said that they are wrong

	// unknown has the environment variables that look like settings and are none,
	// each with what was probably meant.
	unknown []string
}

// Keys of the demo (-demo).
const (
	demoKey      = "phc_demo"
	demoSecret   = "phs_demo"
	demoPersonal = "phx_demo"
)

// errHelp says that help was requested and has been printed.
var errHelp = flag.ErrHelp

// Options returns the options of the server as flags, with their defaults and help
// texts, for programs that complete command lines. Nothing else happens when they are
// parsed or set.
func Options() *flag.FlagSet {
	_, set := newSettings("flagstaff serve", true)
	return set
}

// newSettings returns settings with their defaults, and the flags that change them.
func newSettings(name string, unattended bool) (*settings, *flag.FlagSet) {
	s := &settings{
		logFormat:   choice{value: "text", allowed: []string{"text", "json"}},
		mutations:   choice{value: "key", allowed: []string{"key", "stepup", "off"}},
		deleteUsers: choice{value: "cascade", allowed: []string{"cascade", "strict"}},

		sessionIdle:     duration(14 * 24 * time.Hour),
		sessionLife:     duration(90 * 24 * time.Hour),
		storeTimeout:    duration(time.Second),
		shutdownTimeout: duration(15 * time.Second),
		drain:           duration(unattendedDrain),
		maxStreams:      whole{10_000, 0, 65_536},
		maxConnections:  whole{0, 0, 1_000_000},
		socketMode:      0o660,
		stream:          stream{replicas: whole{1, 1, 5}, partitions: whole{1, 1, 256}},
	}
	if !unattended {
		s.drain = 0
	}
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&s.configFile, "config", "", "read settings from `FILE`: YAML with the names of these options, such as addr: 127.0.0.1:8000. The command line and the environment take precedence")
	set.StringVar(&s.addr, "addr", "127.0.0.1:8000", "listen on `HOST:PORT`; port 0 picks a free one; or on a Unix socket, unix:/run/flagstaff.sock, or on the socket of systemd, systemd or systemd:NAME")
	set.Var(&s.socketMode, "socket-mode", "`MODE` of the Unix socket of -addr in octal: everybody who may write to it can connect")
	set.StringVar(&s.tlsCert, "tls-cert", "", "answer over TLS with the certificate chain in `FILE` (PEM), also by HTTP/2; a change is live within two seconds")
	set.StringVar(&s.tlsKey, "tls-key", "", "`FILE` with the key of -tls-cert (PEM)")
	set.Var(&s.maxConnections, "max-connections", "connections `N` that the server has at once; further ones are answered 503 once all are busy (default: one for 128 KiB of the memory limit of the process, and no more than its limit of open files leaves)")
	set.StringVar(&s.store, "store", "", "keep events, persons and projects in `STORE`: an SQLite file, \":memory:\", or postgres://USER:PASSWORD@HOST/DATABASE (default \""+database.Default+"\", with -demo memory)")
	set.StringVar(&s.stream.url, "stream", "", "write events to NATS JetStream at `URL`, nats://USER:PASSWORD@HOST:PORT or tls://…, several comma-separated; they are stored from there, so that clients are answered while the store is slow or down")
	set.BoolVar(&s.stream.consume, "stream-consume", true, "with -stream, also store the events of the stream; one server of all that do so works at a time, the others stand by. With false at least one other server on the same PostgreSQL store must")
	set.Var(&s.stream.replicas, "stream-replicas", "on how many servers of a NATS cluster `N` an event is before its client is answered; for a stream that does not exist yet")
	set.Var(&s.stream.partitions, "stream-partitions", "in how many parts `N` events are stored at the same time; more than one keep only the order of the events of each distinct ID; for a stream that does not exist yet")
	set.BoolVar(&s.stream.replay, "stream-replay", false, "put dead letters, events that could not be stored, back into the stream of -stream, list them, and exit")
	set.StringVar(&s.flagsFile, "flags", "", "import the definitions document in `FILE` into the first project, or that of -project-key, where nobody else can change flags then; a change of the file is live within two seconds")
	set.StringVar(&s.geoip, "geoip", "", "resolve addresses with the MaxMind-format City database in `FILE`; a change is live within a minute")
	set.StringVar(&s.projectKey, "project-key", "", "project API `KEY` of the project that a first start creates (default: a random one, with -demo \""+demoKey+"\")")
	set.BoolVar(&s.demo, "demo", false, "serve a demo project with flags, a survey and 200 persons, whose keys are printed; loopback addresses only")
	set.Func("quota", "answers with flags that each organization may have, as `N[/month|/day]`; without a period for all time (default: no limit)", s.quota.Set)
	set.Func("set-quota", "give the first organization of the store a -quota of its own, `N` or \"none\" for the common one, and exit; running servers follow within a second", s.setQuota.Set)
	set.Func("event-quota", "events that each organization may send, as `N[/month|/day]` (default: no limit)", s.eventQuota.Set)
	set.Func("trusted-proxies", "addresses of the proxies in front of the server, `PREFIXES`, comma-separated, or \"none\"; the last address in X-Forwarded-For that is not in them is the client (default: the first one, whoever sends it, as the API says)", s.trustedProxies.Set)
	set.Var(&s.products, "products", "product `NAMES` in the User-Agents of SDKs, comma-separated (default \"posthog,svc\")")
	set.Func("rate-limit", "requests per project as `RATE[:BURST]`, the rate per second (default: no limit)", s.rateLimit.Set)
	set.Func("rate-limit-ip", "requests per client address as `RATE[:BURST]`, the rate per second (default: no limit)", s.rateLimitIP.Set)
	s.maxBody = 10 << 20
	set.Var(&s.maxBody, "max-body", "largest body of a flags request in `BYTES`, as sent; up to twice as much after decompression")
	s.maxEvent = 1 << 20
	set.Var(&s.maxEvent, "max-event", "largest event in `BYTES`, with 4 KiB for what is stored beside its name, distinct ID and properties; NATS must take messages of as many (max_payload)")
	set.Var(&s.maxStreams, "max-streams", "event streams that the clients of a project may have on this server, `N`, by which they learn of changed flags at once; with 0 there are none, and clients poll")
	set.Var(&s.maxBodyMemory, "max-body-memory", "memory for the bodies of all requests together, and what is made of them, in `BYTES`; what does not fit is answered 503 (default: 536870912, or a quarter of the memory limit of the process or its container if that is less)")
	set.Var(&s.storeTimeout, "store-timeout", "`TIME` that a request for flags waits for stored properties, cohorts and hash keys; without them its answer says that it is partial")
	set.Var(&s.drain, "drain", "`TIME` after SIGINT or SIGTERM during which requests are still answered, with /readyz at 503, so that balancers notice (default 3s, or 0s if standard error is a terminal)")
	set.Var(&s.shutdownTimeout, "shutdown-timeout", "`TIME` that requests under way may take after that")
	set.Var(&s.logFormat, "log-format", "`FORMAT` of the log on standard error: text or json")
	set.Var(&s.logLevel, "log-level", "least `LEVEL` to log: debug, info, warn or error (default info, for the flags of -demo warn)")
	set.StringVar(&s.adminEmail, "admin-email", "admin@localhost", "e-mail `ADDRESS` of the owner that a first start creates")
	set.StringVar(&s.createKey, "create-key", "", "print a new personal API key for the user with the e-mail `ADDRESS` in the store, and exit")
	set.Var(&s.keyScopes, "key-scopes", "`SCOPES` of the key that -create-key makes, comma-separated, such as user:read,survey:write (default \"*\", all)")
	set.StringVar(&s.secretKeyFile, "secret-key-file", "", "`FILE` with the keys that encrypt authenticators and backup codes, 64 hexadecimal digits a line; the first encrypts, all decrypt (default: for an SQLite file a generated one beside it with .key added; for PostgreSQL none, and no two-factor authentication)")
	set.BoolVar(&s.withoutSecrets, "without-secrets", false, "start although the keys of -secret-key-file cannot read all secrets in the store: for users whose authenticators are lost for good")
	set.StringVar(&s.firstKeys, "first-keys", "", "write the keys that a first start makes to a new `FILE`, which only its owner can read, instead of to standard output")
	set.StringVar(&s.appURL, "app-url", "", "`URL` that links in mails and in lists begin with (default: the listen address)")
	set.StringVar(&s.smtp, "smtp", "", "send mail through `URL`, smtp://USER:PASSWORD@HOST:PORT or smtps://…; without mail, changes of e-mail addresses need no verification, and links of invitations have to be handed over")
	set.StringVar(&s.mailDir, "mail-dir", "", "write mail as files in `DIRECTORY` instead")
	set.StringVar(&s.mailFrom, "mail-from", "", "`ADDRESS` that mail is from (default flagstaff@ the host of -app-url)")
	set.StringVar(&s.summaries.url, "summary-url", "", "have summaries of survey answers written by the service at `URL`, to which /chat/completions is added, such as https://api.example.com/v1; answers are sent only for organizations that approve it in the console, and the console says what is sent (default: answers are counted and quoted, and sent nowhere)")
	set.StringVar(&s.summaries.keyFile, "summary-key-file", "", "`FILE` with the key that the service of -summary-url wants")
	set.StringVar(&s.summaries.model, "summary-model", "", "`NAME` of the model that the service of -summary-url is asked for")
	set.Var(&s.summaries.timeout, "summary-timeout", "`TIME` that the service of -summary-url may take; then answers are counted instead (default 20s)")
	set.Var(&s.mutations, "account-mutations", "what a personal API key needs to change e-mail address, password or two-factor authentication: key (itself), stepup (the password or a code besides) or off (`MODE`: it cannot)")
	set.Var(&s.retain, "retain", "delete events that happened more than `DAYS` ago, such as 90d, with the survey answers among them; events as old that clients send again are not stored; 0 keeps all")
	set.Var(&s.sessionIdle, "session-idle", "`TIME` without a request after which a session of the console ends")
	set.Var(&s.sessionLife, "session-life", "`TIME` after which a session of the console ends in any case")
	set.Var(&s.deleteUsers, "delete-users", "`POLICY` for users who are members of organizations: cascade (memberships end with the user, except of an only owner) or strict (refuse)")
	set.BoolVar(&s.deleteEmpty, "delete-empty-organizations", false, "delete an organization with its last member, who can otherwise not be deleted")
	set.BoolVar(&s.hideBackupCodes, "hide-backup-codes", false, "show backup codes only when they are made")
	set.BoolVar(&s.verifyByCode, "verify-by-code", false, "send a code to type beside the link that verifies an address")
	set.BoolVar(&s.revokeKeys, "revoke-keys-on-password-change", false, "delete the other personal API keys of a user whose password changes")
	set.BoolVar(&s.nativeTypes, "native-types", false, "send member_count as an integer and metadata as an object, not as strings")
	set.BoolVar(&s.allowKeyInBody, "allow-key-in-body", false, "accept personal API keys in bodies and query strings, where logs may keep them")
	set.Var(&s.managementOrigin, "management-origins", "`ORIGINS` whose pages may use the management API, comma-separated, such as https://app.example.com (default: none)")
	set.Var(&s.accessLog, "access-log", "log requests: all, or the `SHARE` of them, such as 0.01, and in any case those that are answered 500 or more; one line has time, method, route, status, bytes, duration, request id and client, and no key (default: no request)")
	set.StringVar(&s.debugAddr, "debug-addr", "", "show metrics, profiles (/debug/pprof/) and how the program was built (/debug/build) on `HOST:PORT`, to everybody who can reach it: use a loopback address, such as 127.0.0.1:6060")
	set.BoolVar(&s.publicMetrics, "public-metrics", true, "show /metrics on -addr, too (default true, with -debug-addr false)")
	set.BoolVar(&s.checkOnly, "check", false, "look at the settings, files, the server of mail, the store and the stream as a start would, leave nothing behind, say all that is wrong, and exit")
	set.BoolVar(&s.version, "version", false, "print the version and exit")
	return s, set
}

// settings reads the settings. Its error says all that is wrong, a line for each thing,
// with the setting, its value and what is allowed; the settings come back besides, for
// -check. The command line takes precedence over the environment, and that over the file of
// -config.
func (m *Main) settings() (*settings, error) {
	s, set := newSettings(m.name(), unattended(m.Stderr))
	s.sources, s.wrong = make(map[string]string), make(map[string]bool)
	var errs []error
	fail := func(err error, source func(name string) string) {
		for _, m := range optionName.FindAllStringSubmatch(err.Error(), -1) {
			s.wrong[m[1]] = true
		}
		errs = append(errs, bySource(err, source))
	}
	fromArgs := func(string) string { return "" }
	for _, err := range m.parseArgs(set) {
		if errors.Is(err, errHelp) {
			usage(set, m.Stdout)
			return nil, errHelp
		}
		fail(err, fromArgs)
	}
	if set.NArg() > 0 && set.Arg(0) == "version" {
		s.version = true
	}
	given := make(map[string]bool)
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	assign := func(name, value, source string) {
		s.sources[name] = source
		if err := set.Lookup(name).Value.Set(value); err != nil {
			fail(fmt.Errorf("invalid value %q for flag -%s: %s", value, name, readable(err.Error())), func(string) string { return source })
		}
	}
	set.VisitAll(func(f *flag.Flag) {
		if value := m.getenv(envName(f.Name)); value != "" && !given[f.Name] {
			assign(f.Name, value, envName(f.Name))
		}
	})
	if s.configFile != "" {
		list, err := readConfig(set, s.configFile)
		if err != nil {
			errs = append(errs, err)
		}
		s.inFile = list
		for _, o := range list {
			if !given[o.name] && s.sources[o.name] == "" {
				assign(o.name, o.value, fmt.Sprintf("%s in %s:%d", o.name, s.configFile, o.line))
			}
		}
	}
	isDefault := func(name string) bool { return !given[name] && s.sources[name] == "" }
	if s.demo && s.flagsFile == "" && isDefault("log-level") {
		s.logLevel = level(slog.LevelWarn) // what is new to a newcomer is not the log
	}
	if s.debugAddr != "" && isDefault("public-metrics") {
		s.publicMetrics = false // there is a place for operators
	}
	s.unknown = unknownVariables(set, m.Environ)
	for _, err := range s.check() {
		fail(err, func(name string) string { return s.sources[name] })
	}
	return s, errors.Join(errs...)
}

// parseArgs reads the command line, and goes on after what is wrong. It returns all that is.
func (m *Main) parseArgs(set *flag.FlagSet) (errs []error) {
	args := m.Args
	for {
		err := set.Parse(args)
		args = set.Args()
		words := true
		switch {
		case errors.Is(err, flag.ErrHelp), err == nil && len(args) > 0 && args[0] == "help":
			return []error{errHelp}
		case err == nil && (len(args) == 0 || args[0] == "version"):
			return errs
		case err == nil:
			errs = append(errs, unexpected(set, m.Args))
		default:
			errs = append(errs, explain(set, err))
			if strings.HasPrefix(err.Error(), "bad flag syntax") { // package flag leaves it where it is
				args = args[1:]
			}
			words = !strings.HasPrefix(err.Error(), "invalid")
		}
		// A word after an unknown flag is its value, perhaps; words come in groups.
		for words && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			args = args[1:]
		}
		if len(args) == 0 {
			return errs
		}
	}
}

// check returns all that is wrong with the settings by themselves.
func (s *settings) check() (errs []error) {
	if s.version {
		return nil
	}
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	host, err := s.checkAddr()
	fail(err)
	fail(s.checkTLS())
	fail(s.checkDebug())
	if s.demo && err == nil && !loopback(host) {
		fail(fmt.Errorf("invalid value %q for flag -addr: -demo has well-known keys and serves loopback addresses only, such as 127.0.0.1:8000", s.addr))
	}
	if s.store == "" {
		s.store = database.Default
		if s.demo {
			s.store = sqlite.Memory
		}
	}
	fail(database.Check(s.store))
	if name := s.command(); name != "" && s.store == sqlite.Memory {
		fail(fmt.Errorf("flag -%s needs a -store that lasts: what is in memory is gone when it exits", name))
	}
	for _, scope := range s.keyScopes {
		if !management.Scope(scope).Valid() {
			fail(fmt.Errorf("invalid value %q for flag -key-scopes: want such as user:read, or * for all", scope))
		}
	}
	if u, err := url.Parse(s.appURL); s.appURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		fail(fmt.Errorf("invalid value %q for flag -app-url: want an http or https URL without query and fragment", s.appURL))
	}
	for _, origin := range s.managementOrigin {
		if err := new(http.CrossOriginProtection).AddTrustedOrigin(origin); err != nil {
			fail(fmt.Errorf("invalid value %q for flag -management-origins: want such as https://app.example.com", origin))
		}
	}
	for name, d := range map[string]duration{"session-idle": s.sessionIdle, "session-life": s.sessionLife} {
		if time.Duration(d) < time.Minute {
			fail(fmt.Errorf("invalid value %q for flag -%s: want at least 1m", d.String(), name))
		}
	}
	if s.smtp != "" && s.mailDir != "" {
		fail(errors.New("flags -smtp and -mail-dir exclude each other"))
	}
	if path, _ := s.keyFile(); s.verifyByCode && path == "" && s.store != sqlite.Memory {
		fail(errors.New("flag -verify-by-code needs the keys of -secret-key-file, which a store in PostgreSQL does not bring along"))
	}
	fail(s.checkSummaries())
	fail(s.checkStream())
	if s.projectKey == "" && s.demo {
		s.projectKey = demoKey
	}
	if s.projectKey != "" && !validKey(s.projectKey) {
		fail(errors.New("invalid value for flag -project-key: want at most 64 ASCII characters without blanks that do not begin with phx_ or phs_"))
	}
	return errs
}

// command returns the name of the flag that makes the program do something with a
// store and exit, or "".
func (s *settings) command() string {
	switch {
	case s.createKey != "":
		return "create-key"
	case s.setQuota.set:
		return "set-quota"
	}
	return ""
}

// checkAddr checks -addr and returns its host.
func (s *settings) checkAddr() (host string, err error) {
	if path, ok := strings.CutPrefix(s.addr, unixPrefix); ok {
		if path == "" || len(path) > maxSocketPath || strings.HasSuffix(path, "/") {
			return "", fmt.Errorf("invalid value %q for flag -addr: want unix: and the path of a socket, at most %d bytes long, such as unix:/run/flagstaff/flagstaff.sock", s.addr, maxSocketPath)
		}
		return "", nil
	}
	if _, ok := systemdName(s.addr); ok {
		if s.addr == systemdAddr+":" {
			return "", fmt.Errorf("invalid value %q for flag -addr: want systemd, or systemd: and the name of a socket (FileDescriptorName)", s.addr)
		}
		return "", nil
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil || strings.Contains(s.addr, "/") {
		example := "127.0.0.1:8000"
		if u, err := url.Parse(s.addr); err == nil && u.Host != "" {
			example = cmp.Or(u.Hostname(), "127.0.0.1") + ":" + cmp.Or(u.Port(), "8000")
		} else if n, err := strconv.ParseUint(s.addr, 10, 16); err == nil {
			example = fmt.Sprintf("127.0.0.1:%d", n)
		} else if hostname.MatchString(s.addr) {
			example = s.addr + ":8000"
		}
		return "", fmt.Errorf("invalid value %q for flag -addr: want HOST:PORT, such as %s", s.addr, example)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("invalid value %q for flag -addr: the port is %q, want a number from 0 to 65535", s.addr, port)
	}
	return host, nil
}

var hostname = regexp.MustCompile(`^[A-Za-z0-9.-]*[A-Za-z][A-Za-z0-9.-]*$|^[0-9]+(\.[0-9]+){3}$`)

// validKey reports whether capture endpoints accept a project API key (wire.md
// §2.4).
func validKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= 64 && !strings.HasPrefix(key, "phx_") && !strings.HasPrefix(key, "phs_")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// envPrefix begins the environment variable of each flag.
const envPrefix = "FLAGSTAFF_"

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// The types below implement flag.Value, or its method Set if they have no default to show.

type prefixes struct {
	set  bool
	list []netip.Prefix
}

func (p *prefixes) Set(s string) error {
	p.set, p.list = true, []netip.Prefix{}
	if s == "none" {
		return nil
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if addr, e := netip.ParseAddr(part); err != nil && e == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is not an address or prefix; want such as 10.0.0.0/8,192.0.2.1, or none", part)
		}
		p.list = append(p.list, prefix.Masked())
	}
	return nil
}

type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(s string) error {
	*w = nil
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			return errors.New("want names, comma-separated")
		}
		*w = append(*w, word)
	}
	return nil
}

// An allowance is a quota with its period.
type allowance struct {
	n      int64
	period quota.Period
}

func (a *allowance) Set(s string) error {
	number, period, hasPeriod := strings.Cut(s, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return errors.New("want N, N/month or N/day, with N a whole number above 0")
	}
	*a = allowance{n, quota.Total}
	switch {
	case !hasPeriod:
	case period == "month":
		a.period = quota.Month
	case period == "day":
		a.period = quota.Day
	default:
		return errors.New("want N, N/month or N/day")
	}
	return nil
}

// An ownQuota is the quota of one organization.
type ownQuota struct {
	set bool
	n   int64 // negative means no quota of its own
}

func (q *ownQuota) Set(s string) error {
	*q = ownQuota{true, -1}
	if s == "none" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return errors.New("want a whole number from 0 on, or none")
	}
	q.n = n
	return nil
}

type limit server.Limit

func (l *limit) Set(s string) error {
	rate, burst, hasBurst := strings.Cut(s, ":")
	perSecond, err := strconv.ParseFloat(rate, 64)
	if err != nil || !(perSecond > 0 && perSecond <= 1e9) {
		return errors.New("want RATE[:BURST], the rate a number above 0")
	}
	n := int(max(1, 2*perSecond))
	if hasBurst {
		if n, err = strconv.Atoi(burst); err != nil || n < 1 {
			return errors.New("want RATE:BURST, the burst a whole number above 0")
		}
	}
	*l = limit{PerSecond: perSecond, Burst: n}
	return nil
}

type size int64

func (b *size) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *size) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > 1<<30 {
		return errors.New("want a number of bytes from 1 to 1073741824")
	}
	*b = size(n)
	return nil
}

// A fileMode is who may do what with a file.
type fileMode fs.FileMode

func (m *fileMode) String() string { return fmt.Sprintf("%04o", uint32(*m)) }

func (m *fileMode) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 || n&0o200 == 0 {
		return errors.New("want an octal number up to 0777 with which the owner may write, such as 0660")
	}
	*m = fileMode(n)
	return nil
}

// A duration is 0 or longer.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err != nil && strings.Trim(s, "0123456789.") == "" && s != "":
		return fmt.Errorf("want a time with its unit, such as %ss or %sm", s, s)
	case err != nil:
		return errors.New("want a time with its unit, such as 15s or 2m")
	case v < 0:
		return errors.New("must not be negative")
	}
	*d = duration(v)
	return nil
}

// A retention is for how long events are kept, in days. Zero: for ever.
type retention int

const maxRetain = 36_500 // days

func (r *retention) duration() time.Duration { return time.Duration(*r) * 24 * time.Hour }

func (r *retention) String() string {
	if *r == 0 {
		return "0"
	}
	return strconv.Itoa(int(*r)) + "d"
}

func (r *retention) Set(s string) error {
	days, ok := strings.CutSuffix(s, "d")
	n, err := strconv.ParseUint(days, 10, 31)
	if err != nil || n > maxRetain || !ok && n != 0 {
		return fmt.Errorf("want days such as 90d, from 1d to %dd, or 0 to keep events for ever", maxRetain)
	}
	*r = retention(n)
	return nil
}

// A whole is a whole number within limits.
type whole struct{ n, min, max int }

func (v *whole) String() string { return strconv.Itoa(v.n) }

func (v *whole) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.min || n > v.max {
		return fmt.Errorf("want %d to %d", v.min, v.max)
	}
	v.n = n
	return nil
}

// A level is how important a line of the log is.
type level slog.Level

func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }

func (l *level) Set(s string) error {
	if err := (*slog.Level)(l).UnmarshalText([]byte(s)); err != nil {
		return errors.New("want debug, info, warn or error")
	}
	return nil
}

type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Set(s string) error {
	if slices.Contains(c.allowed, s) {
		c.value = s
		return nil
	}
	return fmt.Errorf("want %s", strings.Join(c.allowed, " or "))
}

func (s *settings) logger(w io.Writer) *slog.Logger { return s.loggerFrom(w, slog.Level(s.logLevel)) }

// accessLogger returns the logger of -access-log. Its lines are asked for by an option of
// their own, so -log-level, which -demo raises, does not take them away.
func (s *settings) accessLogger(w io.Writer) *slog.Logger { return s.loggerFrom(w, slog.LevelInfo) }

func (s *settings) loggerFrom(w io.Writer, least slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: least}
	if s.logFormat.value == "json" {
		options.ReplaceAttr = wordDurations
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// wordDurations makes durations texts with a unit, such as 1.5s, as they are in a log
// that is text: in JSON they would be numbers of nanoseconds.
func wordDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
