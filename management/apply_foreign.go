package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// applyForeign is apply for a document of another product.
func (s *Service) applyForeign(
	ctx context.Context, p *Principal, document []byte, o ApplyOptions, enter func(*work) error,
) (*importer, *ApplyReport, error) {
	if o.Prune {
		return nil, nil, invalid("prune", "invalid_input", "A document of another product prunes nothing: it may not have all flags of the project.")
	}
	if err := check.Selected("from", o.From.From, foreign.Products()...); err != nil {
		return nil, nil, judgeError(err)
	}
	c, err := foreign.Convert(document, *o.From)
	if wrong, ok := errors.AsType[*foreign.Error](err); ok {
		return nil, nil, invalid(wrong.Option, "invalid_input", "%s", wrong.Text)
	}
	for err == nil {
		i, failed := s.importDocument(ctx, p, c.Document, ImportOptions{DryRun: o.DryRun, Progress: o.Progress}, &o, enter)
		if refused, ok := errors.AsType[*Error](failed); ok && len(refused.Problems) > 0 {
			reasons := make(map[string]string)
			for _, problem := range refused.Problems {
				reasons[problem.Place] = problem.Reason
			}
			var dropped bool
			if dropped, err = c.Drop(reasons); dropped {
				continue
			}
		}
		if failed != nil {
			return nil, nil, failed
		}
		if err := s.countConcerned(ctx, p, i.at.Project.ID, c); err != nil {
			return nil, nil, err
		}
		report := i.applied()
		report.Report, report.Notes = &c.Report, append(c.Notes, report.Notes...)
		if !o.DryRun && len(report.Changes) > 0 {
			report.ImportID = i.apply.importID
		}
		return i, &report, nil
	}
	return nil, nil, err
}

// countConcerned counts for each flag that is not exact how many of the persons of the newest
// events that may concern. A caller who may not read persons gets no count.
func (s *Service) countConcerned(ctx context.Context, p *Principal, project int64, c *foreign.Converted) error {
	if c.Probe == nil || p != nil && p.Require("person:read") != nil {
		return nil
	}
	ids, _, err := s.c.Data.RecentDistinctIDs(ctx, project, paritySubjects)
	if err != nil || len(ids) == 0 {
		return err
	}
	snapshot, err := flags.Compile(c.Probe, flags.CompileOptions{})
	if err != nil {
		return fmt.Errorf("management: definitions: %w", err)
	}
	counts := make(map[string]int)
	var in flags.Input
	for _, id := range ids {
		r := &wire.Request{DistinctID: id, HasDistinctID: true, HasKeys: true, Keys: c.Probed}
		if err := cmp.Or(ctx.Err(), r.Fill(&in, snapshot, runtime.All, s.now()), s.addStored(ctx, project, r, &in)); err != nil {
			return err
		}
		results := in.Evaluate()
		for _, key := range c.Probed {
			if f, ok := results.Get(key); ok && f.Enabled {
				counts[key]++
			}
		}
	}
	c.PersonsSeen = len(ids)
	for _, list := range [][]foreign.Kept{c.LeftOut, c.Inexact} {
		for n := range list {
			if slices.Contains(c.Probed, list[n].Flag) {
				list[n].Persons = new(counts[list[n].Flag])
			}
		}
	}
	return nil
}

// enterHere gives the work of a transaction access to a project, without a user.
func (s *Service) enterHere(ctx context.Context, project int64) func(*work) error {
	return func(w *work) error {
		p, err := w.store.Projects().Get(ctx, storage.ProjectID.Is(project))
		if err != nil {
			return storeError(err)
		}
		w.at = &ProjectAccess{Project: p}
		return w.checkChangeable()
	}
}
