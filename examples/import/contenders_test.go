package imports_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	unleashsdk "github.com/Unleash/unleash-go-sdk/v6"
	unleashcontext "github.com/Unleash/unleash-go-sdk/v6/context"
	configcatsdk "github.com/configcat/go-sdk/v9"
	"github.com/launchdarkly/go-sdk-common/v3/ldcontext"
	"github.com/launchdarkly/go-sdk-common/v3/ldvalue"
	evaluation "github.com/launchdarkly/go-server-sdk-evaluation/v3"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldmodel"
)

const launchDarklyFlags = `{"segments": {}, "flags": {
	"targeted": {"key": "targeted", "on": true, "variations": [true, false], "fallthrough": {"variation": 1}, "rules": [{"id": "1", "variation": 0, "clauses": [
		{"contextKind": "user", "attribute": "country", "op": "in", "values": ["AT", "CH", "DE"]}, {"contextKind": "user", "attribute": "age", "op": "greaterThanOrEqual", "values": [18]}]}]},
	"rollout": {"key": "rollout", "on": true, "salt": "s", "variations": [true, false], "fallthrough": {"variation": 1}, "rules": [{"id": "1",
		"clauses": [{"contextKind": "user", "attribute": "plan", "op": "in", "values": ["pro"]}],
		"rollout": {"contextKind": "user", "variations": [{"variation": 0, "weight": 35000}, {"variation": 1, "weight": 65000}]}}]},
	"split": {"key": "split", "on": true, "salt": "s", "variations": ["red", "green", "blue"], "fallthrough": {"rollout": {"contextKind": "user", "variations": [
		{"variation": 0, "weight": 33400}, {"variation": 1, "weight": 33300}, {"variation": 2, "weight": 33300}]}}},
	"ruled": {"key": "ruled", "on": true, "salt": "s", "variations": [true, false],
		"fallthrough": {"rollout": {"contextKind": "user", "variations": [{"variation": 0, "weight": 10000}, {"variation": 1, "weight": 90000}]}}, "rules": [
		{"id": "1", "variation": 0, "clauses": [{"contextKind": "user", "attribute": "email", "op": "endsWith", "values": ["@acme.com"]}]},
		{"id": "2", "variation": 0, "clauses": [{"contextKind": "user", "attribute": "plan", "op": "in", "values": ["business", "enterprise"]}]}]}}}`

// A ldFlags is the data of LaunchDarkly's engine, which its SDK calls for each value.
type ldFlags map[string]*ldmodel.FeatureFlag

func (f ldFlags) GetFeatureFlag(key string) *ldmodel.FeatureFlag { return f[key] }
func (f ldFlags) GetSegment(string) *ldmodel.Segment             { return nil }

func openLaunchDarkly(tb testing.TB, document string) func(*person) func(string) any {
	var d struct{ Flags ldFlags }
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		tb.Fatal(err)
	}
	for _, f := range d.Flags {
		ldmodel.PreprocessFlag(f)
	}
	e := evaluation.NewEvaluator(d.Flags)
	return func(p *person) func(string) any {
		b := ldcontext.NewBuilder(p.id)
		for name, v := range p.properties {
			b.SetValue(name, ldvalue.CopyArbitraryValue(v))
		}
		of := b.Build()
		return func(key string) any { return e.Evaluate(d.Flags[key], of, nil).Detail.Value.AsArbitraryValue() }
	}
}

const unleashFlags = `{"version": 2, "segments": [], "features": [
	{"name": "targeted", "enabled": true, "strategies": [{"name": "default", "constraints": [
		{"contextName": "country", "operator": "IN", "values": ["AT", "CH", "DE"]}, {"contextName": "age", "operator": "NUM_GTE", "value": "18"}]}]},
	{"name": "rollout", "enabled": true, "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "35", "stickiness": "userId", "groupId": "rollout"},
		"constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}]}]},
	{"name": "split", "enabled": true, "strategies": [{"name": "default"}], "variants": [
		{"name": "red", "weight": 334, "stickiness": "userId"}, {"name": "green", "weight": 333, "stickiness": "userId"}, {"name": "blue", "weight": 333, "stickiness": "userId"}]},
	{"name": "ruled", "enabled": true, "strategies": [
		{"name": "default", "constraints": [{"contextName": "email", "operator": "STR_ENDS_WITH", "values": ["@acme.com"]}]},
		{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["business", "enterprise"]}]},
		{"name": "flexibleRollout", "parameters": {"rollout": "10", "stickiness": "userId", "groupId": "ruled"}}]}]}`

// An answer is what a server of Unleash sends.
type answer string

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &http.Response{StatusCode: http.StatusAccepted, Header: make(http.Header), Body: http.NoBody, Request: r}
	if strings.HasSuffix(r.URL.Path, "/client/features") {
		sent.StatusCode, sent.Body = http.StatusOK, io.NopCloser(bytes.NewReader([]byte(a)))
	}
	return sent, nil
}

func openUnleash(tb testing.TB, document string) func(*person) func(string) any {
	client, err := unleashsdk.NewClient(
		unleashsdk.WithAppName("bench"), unleashsdk.WithUrl("http://unleash.invalid/api/"), unleashsdk.WithDisableMetrics(true),
		unleashsdk.WithBackupPath(tb.TempDir()), unleashsdk.WithHttpClient(&http.Client{Transport: answer(document)}), unleashsdk.WithListener(&unleashsdk.NoopListener{}),
	)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	client.WaitForReady()
	return func(p *person) func(string) any {
		of := unleashcontext.Context{UserId: p.id, Properties: make(map[string]string)}
		for name, v := range p.properties {
			of.Properties[name] = fmt.Sprint(v)
		}
		return func(key string) any {
			if key == "split" {
				return client.GetVariant(key, unleashsdk.VariantOptions{Ctx: of}).Name
			}
			return client.IsEnabled(key, unleashsdk.FeatureOptions{Ctx: of})
		}
	}
}

const configCatFlags = `{"p": {"u": "https://cdn-global.configcat.com", "r": 0, "s": "c2FsdA=="}, "s": [], "f": {
	"targeted": {"t": 0, "v": {"b": false}, "r": [{"s": {"v": {"b": true}}, "c": [
		{"u": {"a": "country", "c": 0, "l": ["AT", "CH", "DE"]}}, {"u": {"a": "age", "c": 15, "d": 18}}]}]},
	"rollout": {"t": 0, "v": {"b": false}, "r": [{"c": [{"u": {"a": "plan", "c": 0, "l": ["pro"]}}], "p": [{"p": 35, "v": {"b": true}}, {"p": 65, "v": {"b": false}}]}]},
	"split": {"t": 1, "v": {"s": "red"}, "p": [{"p": 34, "v": {"s": "red"}}, {"p": 33, "v": {"s": "green"}}, {"p": 33, "v": {"s": "blue"}}]},
	"ruled": {"t": 0, "v": {"b": false}, "p": [{"p": 10, "v": {"b": true}}, {"p": 90, "v": {"b": false}}], "r": [
		{"s": {"v": {"b": true}}, "c": [{"u": {"a": "email", "c": 32, "l": ["@acme.com"]}}]},
		{"s": {"v": {"b": true}}, "c": [{"u": {"a": "plan", "c": 0, "l": ["business", "enterprise"]}}]}]}}}`

func openConfigCat(tb testing.TB, document string) func(*person) func(string) any {
	path := filepath.Join(tb.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		tb.Fatal(err)
	}
	client := configcatsdk.NewCustomClient(configcatsdk.Config{
		PollingMode: configcatsdk.Manual, LogLevel: configcatsdk.LogLevelNone,
		FlagOverrides: &configcatsdk.FlagOverrides{Behavior: configcatsdk.LocalOnly, FilePath: path},
	})
	tb.Cleanup(client.Close)
	if err := client.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return func(p *person) func(string) any {
		of := client.Snapshot(&configcatsdk.UserData{Identifier: p.id, Custom: p.properties})
		return of.GetValue
	}
}
