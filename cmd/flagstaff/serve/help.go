package serve

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// once are the options for one call of the program that does not serve. A server whose file of
// -config had one of them would end at once.
var once = []string{"check", "create-key", "key-scopes", "set-quota", "stream-replay", "version"}

// groups are the options in the order in which help lists them: first the five that nearly
// everybody needs, then by what they are about.
var groups = []struct {
	title   string
	options []string
}{
	{"The five that matter first", []string{"demo", "addr", "store", "flags", "config"}},
	{"Addresses and connections", []string{
		"app-url", "tls-cert", "tls-key", "socket-mode", "trusted-proxies", "max-connections", "drain", "shutdown-timeout",
	}},
	{"The first start", []string{"project-key", "admin-email", "first-keys"}},
	{"Requests of SDKs", []string{
		"geoip", "products", "store-timeout", "rate-limit", "rate-limit-ip", "quota", "event-quota", "max-streams",
		"max-body", "max-body-memory", "max-event",
	}},
	{"Events", []string{"retain", "stream", "stream-consume", "stream-replicas", "stream-partitions"}},
	{"Summaries of survey answers", []string{"summary-url", "summary-key-file", "summary-model", "summary-timeout"}},
	{"Users and the management API", []string{
		"secret-key-file", "without-secrets", "smtp", "mail-dir", "mail-from", "session-idle", "session-life", "account-mutations",
		"verify-by-code", "hide-backup-codes", "revoke-keys-on-password-change", "delete-users", "delete-empty-organizations",
		"management-origins", "allow-key-in-body", "native-types",
	}},
	{"Logs, metrics and profiles", []string{"log-level", "log-format", "access-log", "public-metrics", "debug-addr"}},
	{"Instead of serving", once},
}

// usage prints the help.
func usage(set *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, `Flagstaff evaluates flags, captures events and keeps persons, as PostHog's public
API does. It keeps everything in an SQLite file unless told otherwise.

Usage:

	%[1]s -demo
	%[1]s [-store STORE] [-stream URL] [-flags FILE] [-geoip FILE]
	%[1]s -config FILE

	%[1]s [-store STORE] -create-key ADDRESS
	%[1]s [-store STORE] -set-quota N
	%[1]s -stream URL -stream-replay
	%[1]s -check
	%[1]s help
	%[1]s version

The first start on an empty store creates an organization, a project and its
owner, and prints their keys on standard output. On SIGTERM, requests are still
answered for the time of -drain, and no request is cut.

Each option can also be set by its environment variable, and those for serving by
their names in the file of -config. The command line comes before the environment,
and that before the file.
`, set.Name())
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n\n", g.title)
		for _, name := range g.options {
			printOption(w, set.Lookup(name))
		}
	}
	fmt.Fprint(w, `
Besides the API it serves /healthz, /readyz and, for Prometheus, /metrics.
`)
}

func printOption(w io.Writer, f *flag.Flag) {
	name, text := flag.UnquoteUsage(f)
	fmt.Fprintf(w, "  -%s", f.Name)
	if name != "" {
		fmt.Fprintf(w, " %s", name)
	}
	fmt.Fprintf(w, "    (%s)\n        %s", envName(f.Name), text)
	if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(text, "(default") {
		fmt.Fprintf(w, " (default %s)", f.DefValue)
	}
	fmt.Fprintln(w)
}
