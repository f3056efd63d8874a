// Package unleash compares the Go SDK of Unleash with imported flags.
package unleash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	sdk5 "github.com/Unleash/unleash-go-sdk/v5"
	api5 "github.com/Unleash/unleash-go-sdk/v5/api"
	context5 "github.com/Unleash/unleash-go-sdk/v5/context"
	sdk "github.com/Unleash/unleash-go-sdk/v6"
	"github.com/Unleash/unleash-go-sdk/v6/api"
	"github.com/Unleash/unleash-go-sdk/v6/context"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/unleash"
)

var product = oracle.Product{
	Convert: unleash.Convert,
	Export:  unleash.Export,

	MayRefuse: "such as on the strategies that give variants",
	Options:   convert.Options{Version: "6"},
	Generate:  generator{version: 6}.generate,
	Open:      open,
}

func TestRandomPairs(t *testing.T) { product.Run(t) }

// TestRandomPairsVersion5 has the version of the SDK that draws variants of strategies otherwise.
func TestRandomPairsVersion5(t *testing.T) { product5().Run(t) }

func product5() *oracle.Product {
	older := product
	older.Options.Version = "5"
	older.Generate = generator{version: 5}.generate
	older.Open = open5
	return &older
}

func TestExportByHand(t *testing.T) { product.RunByHand(t, false, "plain", "share") }

func TestExport(t *testing.T) { product.RunExport(t) }

func TestExportVersion5(t *testing.T) { product5().RunExport(t) }

// A server answers with a document.
type server []byte

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusAccepted, Header: make(http.Header), Body: http.NoBody, Request: r}
	if strings.HasSuffix(r.URL.Path, "/client/features") {
		answer.StatusCode = http.StatusOK
		answer.Body = io.NopCloser(bytes.NewReader(s))
	}
	return answer, nil
}

// A model says of a flag what its value is made of.
type model struct {
	name     string
	enabled  bool
	variants bool
	payloads bool
}

func models(t testing.TB, document []byte) map[string]model {
	type variants []struct{ Payload *api.Payload }
	var d struct {
		Features []struct {
			Name       string
			Enabled    bool
			Variants   variants
			Strategies []struct{ Variants variants }
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]model)
	for _, f := range d.Features {
		m := model{name: f.Name, enabled: f.Enabled}
		all := f.Variants
		for _, s := range f.Strategies {
			all = append(all, s.Variants...)
		}
		for _, v := range all {
			m.variants = true
			m.payloads = m.payloads || v.Payload != nil && *v.Payload != api.Payload{}
		}
		out[f.Name] = m
	}
	return out
}

// value returns what the SDK's answers to IsEnabled and GetVariant come to. The SDK writes to
// the variant that all flags share which have none, even while it evaluates a flag that this one
// depends on: then it says of a flag that is off that it is on.
func (m model) value(enabled bool, v *api.Variant) (json.RawMessage, error) {
	if enabled != v.FeatureEnabled && (enabled || v.Name != "disabled") {
		return nil, fmt.Errorf("IsEnabled is %t, FeatureEnabled %t", enabled, v.FeatureEnabled)
	}
	switch {
	case !m.variants:
		return json.Marshal(enabled)
	case !enabled:
		return json.RawMessage("null"), nil
	case !m.payloads:
		return json.Marshal(v.Name)
	case v.Payload == api.Payload{}:
		return json.Marshal(map[string]any{"name": v.Name})
	}
	return json.Marshal(map[string]any{"name": v.Name, "payload": v.Payload})
}

// quietly keeps the SDK from printing warnings.
func quietly(call func()) {
	out := os.Stdout
	defer func() { os.Stdout = out }()
	os.Stdout = nil
	call()
}

const appName = "import"

// last is the client that was opened last.
var last io.Closer = io.NopCloser(nil)

func opened(t testing.TB, client io.Closer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	last = client
}

func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	client, err := sdk.NewClient(
		sdk.WithAppName(appName), sdk.WithUrl("http://unleash.invalid/api/"), sdk.WithBackupPath(t.TempDir()), sdk.WithDisableMetrics(true),
		sdk.WithHttpClient(&http.Client{Transport: server(document)}), sdk.WithListener(&sdk.NoopListener{}),
	)
	opened(t, client, err)
	client.WaitForReady()
	of := models(t, document)
	return func(flag string, s *oracle.Subject) (value json.RawMessage, err error) {
		c := context.Context(contextOf(s))
		quietly(func() {
			*api.DISABLED_VARIANT = api.Variant{Name: "disabled"}
			enabled := client.IsEnabled(flag, sdk.FeatureOptions{Ctx: c})
			*api.DISABLED_VARIANT = api.Variant{Name: "disabled"}
			value, err = of[flag].value(enabled, client.GetVariant(flag, sdk.VariantOptions{Ctx: c}))
		})
		return value, err
	}
}

func open5(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	client, err := sdk5.NewClient(
		sdk5.WithAppName(appName), sdk5.WithUrl("http://unleash.invalid/api/"), sdk5.WithBackupPath(t.TempDir()), sdk5.WithDisableMetrics(true),
		sdk5.WithHttpClient(&http.Client{Transport: server(document)}), sdk5.WithListener(&sdk5.NoopListener{}),
	)
	opened(t, client, err)
	client.WaitForReady()
	of := models(t, document)
	return func(flag string, s *oracle.Subject) (value json.RawMessage, err error) {
		c := contextOf(s)
		quietly(func() {
			*api5.DISABLED_VARIANT = api5.Variant{Name: "disabled"}
			enabled := client.IsEnabled(flag, sdk5.WithContext(c))
			*api5.DISABLED_VARIANT = api5.Variant{Name: "disabled"}
			v := client.GetVariant(flag, sdk5.WithVariantContext(c))
			value, err = of[flag].value(enabled, &api.Variant{Name: v.Name, Payload: api.Payload(v.Payload), Enabled: v.Enabled, FeatureEnabled: v.FeatureEnabled})
		})
		return value, err
	}
}

// contextOf returns the context that a program would make of a subject: Unleash has texts alone.
func contextOf(s *oracle.Subject) context5.Context {
	c := context5.Context{UserId: s.ID, Properties: make(map[string]string)}
	fields := map[string]*string{
		"sessionId": &c.SessionId, "remoteAddress": &c.RemoteAddress, "environment": &c.Environment, "appName": &c.AppName, "currentTime": &c.CurrentTime,
	}
	for name, v := range s.Properties {
		text := ""
		switch v := v.(type) {
		case nil:
			continue
		case string:
			text = v
		default:
			b, _ := json.Marshal(v)
			text = string(b)
		}
		if f := fields[name]; f != nil {
			*f = text
		} else {
			c.Properties[name] = text
		}
	}
	return c
}

// Both move a rollout by one percent.
func TestMovedBoundary(t *testing.T) { product.Bites(t, moved) }

func TestExportMovedBoundary(t *testing.T) { product.BitesExport(t, moved) }

func moved(_ *rand.Rand, document []byte) []byte {
	var d map[string]any
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err)
	}
	for _, f := range d["features"].([]any) {
		strategies, _ := f.(object)["strategies"].([]any)
		for _, s := range strategies {
			parameters := s.(object)["parameters"].(object)
			text, _ := parameters["rollout"].(string)
			if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 99 {
				parameters["rollout"] = strconv.Itoa(n + 1)
				moved, err := json.Marshal(d)
				if err != nil {
					panic(err)
				}
				return moved
			}
		}
	}
	return nil
}
