// Package flipt_test compares the features of Flipt with what they are imported as.
package flipt_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/flipt"
)

func product(version string) *oracle.Product {
	return &oracle.Product{
		Convert: flipt.Convert, Export: flipt.Export, Options: convert.Options{Version: version}, Generate: generate,
		Open: func(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
			return newServer(t, document, version).evaluate
		},
	}
}

func TestOracle(t *testing.T) {
	for _, version := range []string{before29, since29, client} {
		t.Run(version, product(version).Run)
	}
}

func TestExportByHand(t *testing.T) { product(since29).RunByHand(t, false, "plain", "share") }

func TestExport(t *testing.T) {
	for _, version := range []string{before29, since29, client} {
		t.Run(version, product(version).RunExport)
	}
}

func TestExportBites(t *testing.T) {
	t.Run("distribution", func(t *testing.T) { product(before29).BitesExport(t, moveDistribution) })
	t.Run("threshold", func(t *testing.T) { product(since29).BitesExport(t, moveThreshold) })
}

func TestBites(t *testing.T) {
	t.Run("distribution", func(t *testing.T) { product(before29).Bites(t, moveDistribution) })
	t.Run("threshold", func(t *testing.T) { product(since29).Bites(t, moveThreshold) })
}

// moveDistribution moves the end of the first share by one of a thousand buckets.
func moveDistribution(_ *rand.Rand, document []byte) []byte {
	return change(document, func(flag object) bool {
		for _, rule := range list(flag["rules"]) {
			for _, d := range list(rule["distributions"]) {
				if rollout := d["rollout"].(float64); rollout > 0.2 {
					d["rollout"] = rollout - 0.1
					return true
				}
			}
		}
		return false
	})
}

// moveThreshold moves a threshold by one of a hundred buckets.
func moveThreshold(_ *rand.Rand, document []byte) []byte {
	return change(document, func(flag object) bool {
		for _, rollout := range list(flag["rollouts"]) {
			if t, ok := rollout["threshold"].(object); ok && t["percentage"].(float64) >= 1 {
				t["percentage"] = t["percentage"].(float64) - 1
				return true
			}
		}
		return false
	})
}

// change changes the first flag that can be changed.
func change(document []byte, moved func(flag object) bool) []byte {
	var d object
	if json.Unmarshal(document, &d) != nil {
		return nil
	}
	for _, flag := range list(d["flags"]) {
		if moved(flag) {
			out, _ := json.Marshal(d)
			return out
		}
	}
	return nil
}

func list(v any) (out []object) {
	all, _ := v.([]any)
	for _, e := range all {
		out = append(out, e.(object))
	}
	return out
}
