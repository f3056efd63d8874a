package management

import (
	"context"
	"errors"

	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// applyForeign is apply for a document of another product.
func (s *Service) applyForeign(
	ctx context.Context, p *Principal, document []byte, o ApplyOptions, enter func(*work) error,
) (*importer, *ApplyReport, error) {
	if o.Prune {
		return nil, nil, invalid("prune", "invalid_input", "A document of another product prunes nothing: it may not have all flags of the project.")
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
		report := i.applied()
		report.Report, report.Notes = &c.Report, append(c.Notes, report.Notes...)
		if !o.DryRun && len(report.Changes) > 0 {
			report.ImportID = i.apply.importID
		}
		return i, &report, nil
	}
	return nil, nil, err
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
