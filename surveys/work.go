package surveys

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management"
)

// A work is a unit of work about surveys: a [management.UnitOfWork] with the surveys of its
// Store, in the same transaction.
type work struct {
	*Service
	*management.UnitOfWork
	surveys *Data
	by      *management.Principal     // nil: the system itself
	at      *management.ProjectAccess // the project that the work is about; nil before it has entered one
}

// begin begins a work outside of a transaction in the project that a path names, see
// [management.Service.Access].
func (s *Service) begin(ctx context.Context, by *management.Principal, ref string, scopes ...management.Scope) (*work, error) {
	w, err := s.workOn(s.c.Management.Begin(by), by)
	if err != nil {
		return nil, err
	}
	return w, w.enter(ctx, ref, scopes...)
}

func (s *Service) workOn(w *management.UnitOfWork, by *management.Principal) (*work, error) {
	data, err := DataIn(w.Store())
	return &work{Service: s, UnitOfWork: w, surveys: data, by: by}, err
}

// atomic runs f in a transaction. The function may run more than once.
func (s *Service) atomic(ctx context.Context, by *management.Principal, f func(*work) error) error {
	return s.c.Management.Atomic(ctx, by, func(m *management.UnitOfWork) error {
		w, err := s.workOn(m, by)
		if err != nil {
			return err
		}
		return f(w)
	})
}

// atomicAt runs f in a transaction that changes what clients see of the project that a
// path names, see [management.Service.Access].
func (s *Service) atomicAt(ctx context.Context, by *management.Principal, ref string, scopes []management.Scope, f func(*work) error) error {
	return s.atomic(ctx, by, func(w *work) error {
		if err := w.enter(ctx, ref, scopes...); err != nil {
			return err
		}
		w.Changed(w.at.Project.ID)
		return f(w)
	})
}

// enter makes the project that a path names the one that the work is about.
func (w *work) enter(ctx context.Context, ref string, scopes ...management.Scope) (err error) {
	w.at, err = w.Enter(ctx, ref, scopes...)
	return err
}
