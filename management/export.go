package management

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/export"
	"github.com/flagstaff-go/flagstaff/internal/parallel"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ExportOptions say what an export has.
type ExportOptions struct {
	// Archived exports archived flags as well.
	Archived bool

	// AsLists exports lists of flags and cohorts as the management API shows them, with
	// authors and times. Otherwise it is a definitions document, which people read and keep.
	AsLists bool
}

// ExportDefinitions returns the flags and cohorts of a project as JSON that
// [Service.ImportDefinitions] takes (management.md §13.20). A definitions document has no
// flags with encrypted payloads, and its bytes depend on what it says alone. Static
// cohorts come without their members. It needs scopes feature_flag:read and cohort:read.
func (s *Service) ExportDefinitions(ctx context.Context, p *Principal, ref string, o ExportOptions) ([]byte, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read", "cohort:read")
	if err != nil {
		return nil, err
	}
	list, err := w.store.CalledFlags(ctx, w.at.Project.ID)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(f storage.Flag) bool { return f.Kind != storage.FlagOrdinary || f.Archived && !o.Archived })
	flagViews, err := w.flagViews(ctx, list)
	if err != nil {
		return nil, err
	}
	cohorts, err := w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortDeleted.Is(false))
	if err != nil {
		return nil, err
	}
	cohortViews, err := w.cohortViews(ctx, cohorts)
	if err != nil {
		return nil, err
	}
	types, err := w.groupTypes(ctx)
	if err != nil {
		return nil, err
	}
	out := export.Project{GroupTypes: make(map[string]string), Timezone: w.at.Project.Timezone}
	for index, name := range types {
		out.GroupTypes[strconv.Itoa(index)] = name
	}
	if o.AsLists {
		return json.Marshal(map[string]any{"flags": flagViews, "cohorts": cohortViews, "group_type_mapping": out.GroupTypes, "timezone": out.Timezone})
	}
	if out.Flags, err = marshalEach(flagViews); err != nil {
		return nil, err
	}
	if out.Cohorts, err = marshalEach(cohortViews); err != nil {
		return nil, err
	}
	document, _, err := out.Document()
	if err != nil {
		return nil, fmt.Errorf("management: export: %w", err)
	}
	return document, nil
}

func marshalEach[T any](list []T) ([]json.RawMessage, error) {
	out, errs := make([]json.RawMessage, len(list)), make([]error, len(list))
	err := parallel.Each(len(list), func(i int) { out[i], errs[i] = json.Marshal(list[i]) })
	return out, cmp.Or(err, cmp.Or(errs...))
}
