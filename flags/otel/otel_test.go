package otel_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/otel"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// recorded is a logger, of any name, that keeps the events of a program.
type recorded struct {
	embedded.Logger

	mu     sync.Mutex
	off    bool
	events []map[string]string
}

func (r *recorded) Enabled(_ context.Context, p log.EnabledParameters) bool {
	return !r.off && p.EventName == otel.Name
}

func (r *recorded) Emit(ctx context.Context, record log.Record) {
	event := map[string]string{"name": record.EventName(), "severity": record.Severity().String()}
	record.WalkAttributes(func(kv attribute.KeyValue) bool {
		event[string(kv.Key)] = kv.Value.String()
		return true
	})
	if trace, ok := ctx.Value(traceKey{}).(string); ok {
		event["trace"] = trace
	}
	if record.Timestamp().IsZero() {
		event["timestamp"] = "missing"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// A provider has one logger.
type provider struct {
	embedded.LoggerProvider
	logger log.Logger
}

func (p provider) Logger(string, ...log.LoggerOption) log.Logger { return p.logger }

// traceKey stands for the trace that OpenTelemetry has in a context.
type traceKey struct{}

// ruled are rule sets with a value of each type, one that leaves it to the caller, and an experiment.
const ruled = `{"flags":[
	{"id":1,"key":"everyone","active":true,"filters":{"version":2,"return_type":"number","rules":[{"rule_type":"targeted_release","value":0.5}]}},
	{"id":2,"key":"colour","active":true,"filters":{"version":2,"return_type":"string","rules":[{"rule_type":"experiment","experiment_id":9,"paused":false,"rollout_percentage":100,
		"variants":[{"key":"a","weight":100,"value":"red"},{"key":"b","weight":0,"value":"blue"}]}]}},
	{"id":3,"key":"pro","active":true,"filters":{"version":2,"return_type":"object","default_value":{"a":[1]},"rules":[]}},
	{"id":4,"key":"resting","active":true,"filters":{"version":2,"return_type":"boolean","rules":[]}},
	{"id":5,"key":"broken","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[]}}]}`

const definitions = `{"flags":[
	{"id":1,"key":"everyone","version":4,"active":true,"filters":{"groups":[{}]}},
	{"id":2,"key":"colour","version":5,"active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"red","rollout_percentage":50},{"key":"blue","rollout_percentage":50}]}}},
	{"id":3,"key":"pro","version":6,"active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}},
	{"id":4,"key":"resting","version":7,"active":false,"filters":{"groups":[{}]}},
	{"id":5,"key":"broken","version":8,"active":true,"filters":{"groups":7}}]}`

// nowhere is a Sink that forgets.
type nowhere struct{}

func (nowhere) Write(context.Context, []capture.Event) error { return nil }

func open(t testing.TB, o otel.Options) *flagstaff.Client { return openWith(t, definitions, o) }

func openWith(t testing.TB, document string, o otel.Options) *flagstaff.Client {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	events, err := capture.NewClient(capture.ClientConfig{Sink: nowhere{}, Project: 1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{
		Source: source.Static{Definitions: d}, Events: events, Log: slog.New(slog.DiscardHandler), OnEvaluation: otel.OnEvaluation(o),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close(context.Background()) // nothing is lost: Events is the test's
		if err := events.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// ask asks twice for each flag of a person, in a request with a trace.
func ask(client *flagstaff.Client, id string) {
	handler := client.Middleware(func(*http.Request) *flags.Request {
		return &flags.Request{DistinctID: id, PersonProperties: map[string]any{"plan": "pro"}}
	})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p := flagstaff.From(r.Context())
		for _, key := range []string{"everyone", "colour", "pro", "resting", "broken", "everyone", "colour", "pro", "resting", "broken"} {
			p.Variant(key, "")
			_, _ = p.Lookup(key) // shows nothing
		}
		p.Bool("unknown", false)
	}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), traceKey{}, "the trace")))
}

func TestEvents(t *testing.T) {
	got := new(recorded)
	ask(open(t, otel.Options{Loggers: provider{logger: got}, SetID: "shop"}), "ada")
	event := func(key, severity string, more ...string) map[string]string {
		m := map[string]string{
			"name": "feature_flag.evaluation", "severity": severity, "trace": "the trace",
			"feature_flag.key": key, "feature_flag.provider.name": "flagstaff", "feature_flag.set.id": "shop",
		}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	const reason, value, version = "feature_flag.result.reason", "feature_flag.result.value", "feature_flag.version"
	want := []map[string]string{
		event("everyone", "INFO", reason, "static", value, "true", version, "4"),
		event("colour", "INFO", reason, "split", "feature_flag.result.variant", "blue", version, "5"),
		event("pro", "INFO", reason, "targeting_match", value, "true", version, "6"),
		event("resting", "INFO", reason, "disabled", value, "false", version, "7"),
		event("broken", "WARN", reason, "error", version, "8", "error.type", "parse_error",
			"feature_flag.error.message", "flag_data_parsing_error: Failed to parse flag data"),
		event("unknown", "WARN", reason, "error", "error.type", "flag_not_found", "feature_flag.error.message", `flags: unknown flag: "unknown"`),
	}
	if diff := cmp.Diff(want, got.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// TestRuleSets: values have their types.
func TestRuleSets(t *testing.T) {
	got := new(recorded)
	ask(openWith(t, ruled, otel.Options{Loggers: provider{logger: got}}), "ada")
	list := make(map[string]string)
	for _, e := range got.events {
		list[e["feature_flag.key"]] = e["feature_flag.result.reason"] + " " + e["feature_flag.result.value"] + " " + e["feature_flag.result.variant"]
	}
	want := map[string]string{"everyone": "targeting_match 0.5 ", "colour": "split red a", "pro": `default {"a":[1]} `, "resting": "default  ", "broken": "default true ", "unknown": "error  "}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	keys := func(o otel.Options, r *recorded, persons ...string) (list []string) {
		o.Loggers = provider{logger: r}
		client := open(t, o)
		for _, id := range persons {
			ask(client, id)
		}
		for _, e := range r.events {
			list = append(list, e["feature_flag.key"]+" "+e["feature_flag.provider.name"]+" "+e["feature_flag.context.id"])
		}
		return list
	}
	all := keys(otel.Options{NewOnly: true, ContextID: true, Provider: "ours"}, new(recorded), "ada", "ada", "bob", "ada")
	want := []string{"everyone ours ada", "colour ours ada", "pro ours ada", "everyone ours bob", "colour ours bob", "pro ours bob"}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("new exposures (-want +got)\n%s", diff)
	}
	if list := keys(otel.Options{}, &recorded{off: true}, "ada"); list != nil {
		t.Errorf("a logger that is off gets %v", list)
	}
	// Without an SDK the global provider takes nothing.
	ask(open(t, otel.Options{}), "ada")
}

func TestNotReady(t *testing.T) {
	got := new(recorded)
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{
		Source: source.File{Path: "/does/not/exist"}, Log: slog.New(slog.DiscardHandler),
		OnEvaluation: otel.OnEvaluation(otel.Options{Loggers: provider{logger: got}}),
	})
	if err == nil {
		t.Fatal("a file that does not exist was read")
	}
	defer client.Close(context.Background())
	client.For(&flags.Request{DistinctID: "ada"}).Bool("everyone", false)
	if len(got.events) != 1 || got.events[0]["error.type"] != "provider_not_ready" {
		t.Errorf("events %v, want one with error.type provider_not_ready", got.events)
	}
}

// TestDependencies: a program gets OpenTelemetry's API, and neither its SDK nor an exporter.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for _, bad := range []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters", "google.golang.org/", "/flagstaff/server", "/flagstaff/management"} {
			if strings.Contains(dep, bad) {
				t.Errorf("otel imports %s", dep)
			}
		}
	}
}

// BenchmarkEvaluation is one evaluation without the hook, with a hook that nobody listens
// to, and with one that makes an event.
func BenchmarkEvaluation(b *testing.B) {
	d, err := flags.Decode(strings.NewReader(definitions))
	if err != nil {
		b.Fatal(err)
	}
	for _, v := range []struct {
		name string
		hook func(context.Context, flagstaff.Evaluation)
	}{
		{"without", nil},
		{"off", otel.OnEvaluation(otel.Options{Loggers: provider{logger: &recorded{off: true}}})},
		{"on", otel.OnEvaluation(otel.Options{Loggers: provider{logger: new(discard)}})},
	} {
		b.Run(v.name, func(b *testing.B) {
			client, err := flagstaff.Open(b.Context(), flagstaff.Config{Source: source.Static{Definitions: d}, Log: slog.New(slog.DiscardHandler), OnEvaluation: v.hook})
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close(context.Background())
			b.ReportAllocs()
			for b.Loop() {
				client.For(&flags.Request{DistinctID: "ada"}).Bool("everyone", false)
			}
		})
	}
}

// discard is a logger that throws away what it gets.
type discard struct{ embedded.Logger }

func (*discard) Enabled(context.Context, log.EnabledParameters) bool { return true }
func (*discard) Emit(context.Context, log.Record)                    {}
