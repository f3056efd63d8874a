package server

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

type (
	service   = management.Service
	principal = management.Principal
)

// Most operations only call a method of the Service: read, change, create, remove
// and listPage make an operation of a method. name is the wildcard of the path that
// names the thing.

// read answers with the result of a method.
func read[T any](name string, f func(*service, context.Context, *principal, string) (T, error)) Operation {
	return func(a *Request) error {
		v, err := f(a.service(), a.Context(), a.principal, a.Segment(name))
		return a.Answer(http.StatusOK, v, err)
	}
}

// change decodes the body for a method, and answers with its result.
func change[P, T any](name string, f func(*service, context.Context, *principal, string, P) (T, error)) Operation {
	return changeWith(http.StatusOK, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, a.Segment(name), patch)
	})
}

// create is change for a new thing: its status is 201.
func create[P, T any](f func(*service, context.Context, *principal, P) (T, error)) Operation {
	return changeWith(http.StatusCreated, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, patch)
	})
}

// createIn is create for what belongs to an organization: the one in the path, or
// else the current one.
func createIn[P, T any](f func(*service, context.Context, *principal, string, P) (T, error)) Operation {
	return changeWith(http.StatusCreated, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, cmp.Or(a.Segment("organization"), "@current"), patch)
	})
}

// changeWith is the common part of change and create: it decodes the body, and
// answers with the result of f.
func changeWith[P, T any](status int, f func(*Request, P) (T, error)) Operation {
	return func(a *Request) error {
		var patch P
		if err := a.Decode(&patch); err != nil {
			return err
		}
		v, err := f(a, patch)
		return a.Answer(status, v, err)
	}
}

// Decode decodes the body into a patch, and refuses members that nothing knows if it is that
// of a definition (management.md §13.5). A patch of another package has a method for that:
//
//	CheckBody(raw []byte, lenient bool) error
func (a *Request) Decode(patch any) error {
	if err := a.decode(patch); err != nil {
		return err
	}
	lenient, err := a.Asked("lenient")
	if err != nil {
		return err
	}
	document := []byte(a.document)
	if a.members.key != "" || a.members.password != "" {
		document = withoutMembers(a.document, credentials)
	}
	if p, ok := patch.(interface{ CheckBody([]byte, bool) error }); ok {
		return p.CheckBody(document, lenient)
	}
	return management.CheckBody(patch, document, lenient)
}

// remove answers without content.
func remove(name string, f func(*service, context.Context, *principal, string) error) Operation {
	return func(a *Request) error {
		return a.done(f(a.service(), a.Context(), a.principal, a.Segment(name)))
	}
}

// listPage answers with a page of a list.
func listPage[T any](f func(s *service, ctx context.Context, p *principal, limit, offset int) (*management.Page[T], error)) Operation {
	return func(a *Request) error {
		limit, offset := a.Window()
		page, err := f(a.service(), a.Context(), a.principal, limit, offset)
		return AnswerPage(a, page, err)
	}
}

// listIn is listPage for what belongs to the organization in the path, or else to any.
func listIn[T any](f func(s *service, ctx context.Context, p *principal, organization string, limit, offset int) (*management.Page[T], error)) Operation {
	return func(a *Request) error {
		limit, offset := a.Window()
		page, err := f(a.service(), a.Context(), a.principal, a.Segment("organization"), limit, offset)
		return AnswerPage(a, page, err)
	}
}

// succeeded is the answer of methods that return nothing.
type succeeded struct {
	Success bool   `json:"success"`
	Token   string `json:"token,omitempty"` // of verifyEmail
}

// listUsers answers with the users that a filter selects (management.md §3.3).
func listUsers(a *Request) error {
	var f storage.UserFilter
	if email := a.Param("email"); email != "" {
		f.Email = &email
	}
	var err error
	if f.Staff, err = a.Truth("is_staff"); err != nil {
		return err
	}
	limit, offset := a.Window()
	page, err := a.service().ListUsers(a.Context(), a.principal, f, limit, offset)
	return AnswerPage(a, page, err)
}

// setHedgehog replaces the hedgehog_config of a user by the body, which may be any
// JSON (management.md §7.1).
func setHedgehog(a *Request) error {
	var document []byte
	if len(a.x.body.raw) > 0 { // otherwise a.document is {}, which would wipe the stored document
		document = bytes.Clone(a.document) // the next request reuses its memory
	}
	v, err := a.service().SetHedgehog(a.Context(), a.principal, a.Segment("user"), document)
	return a.Answer(http.StatusOK, v, err)
}

var confirmTwoFactor = changeWith(http.StatusOK, func(a *Request, patch management.TwoFactorPatch) (succeeded, error) {
	return succeeded{Success: true}, a.service().ConfirmTwoFactor(a.Context(), a.principal, a.Segment("user"), patch)
})

func disableTwoFactor(a *Request) error {
	err := a.service().DisableTwoFactor(a.Context(), a.principal, a.Segment("user"))
	return a.Answer(http.StatusOK, succeeded{Success: true}, err)
}

func newBackupCodes(a *Request) error {
	codes, err := a.service().NewBackupCodes(a.Context(), a.principal, a.Segment("user"))
	return a.Answer(http.StatusOK, struct {
		Codes []string `json:"backup_codes"`
	}{codes}, err)
}

func cancelEmailChange(a *Request) error {
	v, err := a.service().CancelEmailChange(a.Context(), a.principal)
	return a.Answer(http.StatusOK, v, err)
}

var requestEmailVerification = changeWith(http.StatusOK, func(a *Request, request management.EmailRequest) (succeeded, error) {
	return succeeded{Success: true}, a.service().RequestEmailVerification(a.Context(), a.principal, request)
})

var verifyEmail = changeWith(http.StatusOK, func(a *Request, proof management.EmailProof) (succeeded, error) {
	token, err := a.service().VerifyEmail(a.Context(), a.client(), proof)
	return succeeded{true, token}, err
})

// listKeys answers with all keys of a user. There are few, so there are no pages.
func listKeys(a *Request) error {
	keys, err := a.service().Keys(a.Context(), a.principal)
	return a.Answer(http.StatusOK, keys, err)
}

// addMember answers 201 with the member, or 202 if the address is only invited
// (management.md §8.4).
func addMember(a *Request) error {
	var patch management.MemberPatch
	if err := a.decode(&patch); err != nil {
		return err
	}
	member, invitation, err := a.service().AddMember(a.Context(), a.principal, a.Segment("organization"), patch)
	if invitation != nil {
		return a.Answer(http.StatusAccepted, invitation, err)
	}
	return a.Answer(http.StatusCreated, member, err)
}

func withdrawInvitation(a *Request) error {
	return a.done(a.service().WithdrawInvitation(a.Context(), a.principal, a.Segment("organization"), a.Segment("invitation")))
}

func openInvitation(a *Request) error {
	v, err := a.service().OpenInvitation(a.Context(), a.Segment("token"))
	return a.Answer(http.StatusOK, v, err)
}

var acceptInvitation = changeWith(http.StatusCreated, func(a *Request, acceptance management.Acceptance) (*management.MemberView, error) {
	return a.service().AcceptInvitation(a.Context(), a.principal, a.Segment("token"), acceptance)
})

func endSession(a *Request) error {
	return a.done(a.service().EndSession(a.Context(), a.principal, a.Segment("user"), a.Segment("session")))
}

var requestPasswordReset = changeWith(http.StatusOK, func(a *Request, request management.PasswordResetRequest) (succeeded, error) {
	return succeeded{Success: true}, a.service().RequestPasswordReset(a.Context(), request)
})

func openPasswordReset(a *Request) error {
	v, err := a.service().OpenLink(a.Context(), storage.LinkPasswordReset, a.Segment("token"))
	return a.Answer(http.StatusOK, v, err)
}

var resetPassword = changeWith(http.StatusOK, func(a *Request, chosen management.ChosenPassword) (succeeded, error) {
	return succeeded{Success: true}, a.service().ResetPassword(a.Context(), a.Segment("token"), chosen)
})

var updateMember = changeWith(http.StatusOK, func(a *Request, patch management.MemberPatch) (*management.MemberView, error) {
	return a.service().UpdateMember(a.Context(), a.principal, a.Segment("organization"), a.Segment("user"), patch)
})

func removeMember(a *Request) error {
	return a.done(a.service().RemoveMember(a.Context(), a.principal, a.Segment("organization"), a.Segment("user")))
}

// inItsOrganization returns an error if a path names an organization and a project
// of another one.
func inItsOrganization(a *Request) error {
	organization := a.Segment("organization")
	if organization == "" {
		return nil
	}
	access, err := a.service().Access(a.Context(), a.principal, a.Segment("project"))
	if err != nil {
		return err
	}
	current := a.principal.User.CurrentOrganization
	id := access.Organization.ID
	if strings.EqualFold(organization, id.String()) || organization == "@current" && current != nil && *current == id {
		return nil
	}
	return &management.Error{Kind: management.ErrNotFound, Code: "not_found", Detail: "Project not found."}
}
