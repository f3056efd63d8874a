package management

import (
	"context"
	"errors"

	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ImportForeign makes flags and cohorts of the document of another product, or changes those that
// an earlier import has made, into the project that a path names (management.md §13.19). Each
// user's value is what it was there; a flag of which this cannot be said is left out, unless the
// options ask for it. Everything happens in one transaction. It needs scopes
// feature_flag:write and cohort:write.
func (s *Service) ImportForeign(ctx context.Context, p *Principal, ref string, document []byte, f foreign.Options, o ImportOptions) (*ApplyReport, error) {
	if _, err := s.beginAt(ctx, p, ref, importScopes...); err != nil {
		return nil, err
	}
	return s.importForeign(ctx, p, document, f, o, func(w *work) error { return w.enter(ctx, ref, importScopes...) })
}

// ImportForeignInto is [Service.ImportForeign] for programs on the machine of the server.
func (s *Service) ImportForeignInto(ctx context.Context, project int64, document []byte, f foreign.Options, o ImportOptions) (*ApplyReport, error) {
	return s.importForeign(ctx, nil, document, f, o, s.enterHere(ctx, project))
}

func (s *Service) importForeign(ctx context.Context, p *Principal, document []byte, f foreign.Options, o ImportOptions, enter func(*work) error) (*ApplyReport, error) {
	c, err := foreign.Convert(document, f)
	if wrong, ok := errors.AsType[*foreign.Error](err); ok {
		return nil, invalid(wrong.Option, "invalid_input", "%s", wrong.Text)
	}
	for err == nil {
		i, failed := s.importDocument(ctx, p, c.Document, o, &ApplyOptions{DryRun: o.DryRun, imported: true}, enter)
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
			return nil, failed
		}
		report := i.applied()
		report.Report, report.Notes = &c.Report, append(c.Notes, report.Notes...)
		return &report, nil
	}
	return nil, err
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
