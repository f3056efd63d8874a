// Package configcat_test compares the settings of ConfigCat with what they are imported as.
package configcat_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/configcat/go-sdk/v9"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert/configcat"
)

var product = oracle.Product{Convert: configcat.Convert, Export: configcat.Export, Generate: generate, Open: open}

// open reads a config as overrides of a client that asks nobody.
func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	client := sdk.NewCustomClient(sdk.Config{
		PollingMode: sdk.Manual, LogLevel: sdk.LogLevelNone,
		FlagOverrides: &sdk.FlagOverrides{Behavior: sdk.LocalOnly, FilePath: path},
	})
	t.Cleanup(client.Close)
	if err := client.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	snapshots := make(map[*oracle.Subject]*sdk.Snapshot)
	return func(flag string, s *oracle.Subject) (json.RawMessage, error) {
		if snapshots[s] == nil {
			snapshots[s] = client.Snapshot(userOf(s))
		}
		return json.Marshal(snapshots[s].GetValue(flag))
	}
}

// userOf returns a user of the SDK, which has lists of texts and no other lists.
func userOf(s *oracle.Subject) *sdk.UserData {
	u := &sdk.UserData{Identifier: s.ID, Custom: make(map[string]any)}
	for name, value := range s.Properties {
		switch name {
		case "Email":
			u.Email, _ = value.(string)
			continue
		case "Country":
			u.Country, _ = value.(string)
			continue
		}
		u.Custom[name] = value
		if list, ok := value.([]any); ok {
			texts := []string{}
			for _, e := range list {
				if s, ok := e.(string); ok {
					texts = append(texts, s)
				}
			}
			if len(texts) == len(list) {
				u.Custom[name] = texts
			}
		}
	}
	return u
}

func TestOracle(t *testing.T) { product.Run(t) }

func TestExportByHand(t *testing.T) { product.RunByHand(t, false, "plain", "share") }

func TestExport(t *testing.T) { product.RunExport(t) }

func TestExportBites(t *testing.T) { product.BitesExport(t, moved) }

func TestBites(t *testing.T) { product.Bites(t, moved) }

// moved moves the end of a percentage option by one of a hundred buckets.
func moved(_ *rand.Rand, document []byte) []byte {
	var config struct {
		P json.RawMessage `json:"p"`
		F map[string]struct {
			A string           `json:"a,omitempty"`
			I string           `json:"i,omitempty"`
			V json.RawMessage  `json:"v"`
			T int              `json:"t"`
			R json.RawMessage  `json:"r,omitempty"`
			P []map[string]any `json:"p,omitempty"`
		} `json:"f"`
		S json.RawMessage `json:"s"`
	}
	if err := json.Unmarshal(document, &config); err != nil {
		panic(err)
	}
	for _, s := range config.F {
		if len(s.P) > 1 && s.P[0]["p"].(float64) > 0 {
			s.P[0]["p"] = s.P[0]["p"].(float64) - 1
			out, _ := json.Marshal(config)
			return out
		}
	}
	return nil
}
