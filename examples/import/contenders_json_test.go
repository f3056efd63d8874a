package imports_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/open-feature/flagd/core/pkg/evaluator"
	"github.com/open-feature/flagd/core/pkg/logger"
	"github.com/open-feature/flagd/core/pkg/store"
	"github.com/open-feature/flagd/core/pkg/sync"
	"github.com/thomaspoignant/go-feature-flag/modules/core/dto"
	"github.com/thomaspoignant/go-feature-flag/modules/core/flag"
	"github.com/thomaspoignant/go-feature-flag/modules/core/utils"
	"go.uber.org/zap"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
)

const goFeatureFlagFlags = `{
	"targeted": {"variations": {"on": true, "off": false}, "defaultRule": {"variation": "off"}, "targeting": [
		{"query": "country in [\"AT\", \"CH\", \"DE\"] and age ge 18", "variation": "on"}]},
	"rollout": {"variations": {"on": true, "off": false}, "defaultRule": {"variation": "off"}, "targeting": [
		{"query": "plan eq \"pro\"", "percentage": {"on": 35, "off": 65}}]},
	"split": {"variations": {"red": "red", "green": "green", "blue": "blue"}, "defaultRule": {"percentage": {"red": 33.5, "green": 33.25, "blue": 33.25}}},
	"ruled": {"variations": {"on": true, "off": false}, "defaultRule": {"percentage": {"on": 10, "off": 90}}, "targeting": [
		{"query": "email ew \"@acme.com\"", "variation": "on"}, {"query": "plan in [\"business\", \"enterprise\"]", "variation": "on"}]}}`

func openGoFeatureFlag(tb testing.TB, document string) func(*person) func(string) any {
	var file map[string]dto.DTO
	if err := json.Unmarshal([]byte(document), &file); err != nil {
		tb.Fatal(err)
	}
	flags := make(map[string]*flag.InternalFlag)
	for key, d := range file {
		f := d.Convert()
		if err := f.IsValid(); err != nil {
			tb.Fatal(err)
		}
		flags[key] = &f
	}
	return func(p *person) func(string) any {
		of := utils.ConvertEvaluationCtxFromRequest(p.id, p.properties)
		return func(key string) any {
			value, _ := flags[key].Value(key, of, flag.Context{})
			return value
		}
	}
}

const flagdFlags = `{"flags": {
	"targeted": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": {"if": [
		{"and": [{"in": [{"var": "country"}, ["AT", "CH", "DE"]]}, {">=": [{"var": "age"}, 18]}]}, "on"]}},
	"rollout": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": {"if": [
		{"==": [{"var": "plan"}, "pro"]}, {"fractional": [["on", 35], ["off", 65]]}]}},
	"split": {"state": "ENABLED", "variants": {"red": "red", "green": "green", "blue": "blue"}, "defaultVariant": "red", "targeting":
		{"fractional": [["red", 334], ["green", 333], ["blue", 333]]}},
	"ruled": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": {"if": [
		{"ends_with": [{"var": "email"}, "@acme.com"]}, "on", {"in": [{"var": "plan"}, ["business", "enterprise"]]}, "on", {"fractional": [["on", 10], ["off", 90]]}]}}}}`

func convertFlagd(document []byte, _ *convert.Options) (*convert.Project, error) {
	return flagd.Convert(document, &convert.Options{Version: "new"})
}

func openFlagd(tb testing.TB, document string) func(*person) func(string) any {
	const source = "file"
	quiet := logger.NewLogger(zap.NewNop(), false)
	s, err := store.NewStore(quiet, []string{source})
	if err != nil {
		tb.Fatal(err)
	}
	e := evaluator.NewJSON(quiet, s)
	if err := e.SetState(sync.DataSync{FlagData: document, Source: source}); err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	return func(p *person) func(string) any {
		of := map[string]any{"targetingKey": p.id}
		maps.Copy(of, p.properties)
		return func(key string) any { return e.ResolveAsAnyValue(ctx, "", key, of).Value }
	}
}
