// Package flagdold compares flags of flagd, as it drew before core v0.15, with what they are
// imported as.
package flagdold

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/open-feature/flagd/core/pkg/evaluator"
	"github.com/open-feature/flagd/core/pkg/logger"
	"github.com/open-feature/flagd/core/pkg/store"
	"github.com/open-feature/flagd/core/pkg/sync"
	"go.uber.org/zap"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/flagdtest"
	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

func TestValues(t *testing.T) { flagdtest.Product("old", open).Run(t) }

// TestBites moves a boundary by a weight of one.
func TestBites(t *testing.T) { flagdtest.Product("old", open).Bites(t, flagdtest.Moved) }

func TestExport(t *testing.T) { flagdtest.Product("old", open).RunExport(t) }

func TestExportBites(t *testing.T) { flagdtest.Product("old", open).BitesExport(t, flagdtest.Moved) }

func TestExportByHand(t *testing.T) {
	flagdtest.Product("old", open).RunByHand(t, true, "plain", "share")
}

var quiet = logger.NewLogger(zap.NewNop(), false)

func open(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error) {
	const source = "file"
	s, err := store.NewStore(quiet, []string{source})
	if err != nil {
		t.Fatal(err)
	}
	e := evaluator.NewJSON(quiet, s)
	if err := e.SetState(sync.DataSync{FlagData: string(document), Source: source}); err != nil {
		t.Fatal(err)
	}
	return func(key string, s *oracle.Subject) (json.RawMessage, error) {
		v := e.ResolveAsAnyValue(context.Background(), "", key, flagdtest.Context(s))
		if v.Error != nil {
			return json.RawMessage("null"), nil // the default of the code
		}
		return json.Marshal(v.Value)
	}
}
