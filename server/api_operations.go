package server

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

type (
	service   = management.Service
	principal = management.Principal
)

// Most operations only call a method of the Service: read, change, create, remove
// and listPage make an operation of a method. name is the wildcard of the path that
// names the thing.

// read answers with the result of a method.
func read[T any](name string, f func(*service, context.Context, *principal, string) (T, error)) operation {
	return func(a *apiRequest) error {
		v, err := f(a.service(), a.context(), a.principal, a.segment(name))
		return a.answer(http.StatusOK, v, err)
	}
}

// change decodes the body for a method, and answers with its result.
func change[P, T any](name string, f func(*service, context.Context, *principal, string, P) (T, error)) operation {
	return changeWith(http.StatusOK, func(a *apiRequest, patch P) (T, error) {
		return f(a.service(), a.context(), a.principal, a.segment(name), patch)
	})
}

// create is change for a new thing: its status is 201.
func create[P, T any](f func(*service, context.Context, *principal, P) (T, error)) operation {
	return changeWith(http.StatusCreated, func(a *apiRequest, patch P) (T, error) {
		return f(a.service(), a.context(), a.principal, patch)
	})
}

// createIn is create for what belongs to an organization: the one in the path, or
// else the current one.
func createIn[P, T any](f func(*service, context.Context, *principal, string, P) (T, error)) operation {
	return changeWith(http.StatusCreated, func(a *apiRequest, patch P) (T, error) {
		return f(a.service(), a.context(), a.principal, cmp.Or(a.segment("organization"), "@current"), patch)
	})
}

// changeWith is the common part of change and create: it decodes the body, and
// answers with the result of f.
func changeWith[P, T any](status int, f func(*apiRequest, P) (T, error)) operation {
	return func(a *apiRequest) error {
		var patch P
		if err := a.decode(&patch); err != nil {
			return err
		}
		if err := a.checkMembers(&patch); err != nil {
			return err
		}
		v, err := f(a, patch)
		return a.answer(status, v, err)
	}
}

// checkMembers refuses members of the body that nothing knows (management.md §13.5), if it
// is that of a definition, which patch was decoded from.
func (a *apiRequest) checkMembers(patch any) error {
	lenient, err := a.asked("lenient")
	if err != nil {
		return err
	}
	document := []byte(a.document)
	if a.members.key != "" || a.members.password != "" {
		document = withoutMembers(a.document, credentials)
	}
	if p, ok := patch.(*survey.Patch); ok {
		return survey.CheckBody(p, document, lenient)
	}
	return management.CheckBody(patch, document, lenient)
}

// remove answers without content.
func remove(name string, f func(*service, context.Context, *principal, string) error) operation {
	return func(a *apiRequest) error {
		return a.done(f(a.service(), a.context(), a.principal, a.segment(name)))
	}
}

// listPage answers with a page of a list.
func listPage[T any](f func(s *service, ctx context.Context, p *principal, limit, offset int) (*management.Page[T], error)) operation {
	return func(a *apiRequest) error {
		limit, offset := a.window()
		page, err := f(a.service(), a.context(), a.principal, limit, offset)
		return answerPage(a, page, err)
	}
}

// listIn is listPage for what belongs to the organization in the path, or else to any.
func listIn[T any](f func(s *service, ctx context.Context, p *principal, organization string, limit, offset int) (*management.Page[T], error)) operation {
	return func(a *apiRequest) error {
		limit, offset := a.window()
		page, err := f(a.service(), a.context(), a.principal, a.segment("organization"), limit, offset)
		return answerPage(a, page, err)
	}
}

// succeeded is the answer of methods that return nothing.
type succeeded struct {
	Success bool   `json:"success"`
	Token   string `json:"token,omitempty"` // of verifyEmail
}

// listUsers answers with the users that a filter selects (management.md §3.3).
func listUsers(a *apiRequest) error {
	var f storage.UserFilter
	if email := a.param("email"); email != "" {
		f.Email = &email
	}
	var err error
	if f.Staff, err = a.truth("is_staff"); err != nil {
		return err
	}
	limit, offset := a.window()
	page, err := a.service().ListUsers(a.context(), a.principal, f, limit, offset)
	return answerPage(a, page, err)
}

// setHedgehog replaces the hedgehog_config of a user by the body, which may be any
// JSON (management.md §7.1).
func setHedgehog(a *apiRequest) error {
	var document []byte
	if len(a.x.body.raw) > 0 { // otherwise a.document is {}, which would wipe the stored document
		document = bytes.Clone(a.document) // the next request reuses its memory
	}
	v, err := a.service().SetHedgehog(a.context(), a.principal, a.segment("user"), document)
	return a.answer(http.StatusOK, v, err)
}

var confirmTwoFactor = changeWith(http.StatusOK, func(a *apiRequest, patch management.TwoFactorPatch) (succeeded, error) {
	return succeeded{Success: true}, a.service().ConfirmTwoFactor(a.context(), a.principal, a.segment("user"), patch)
})

func disableTwoFactor(a *apiRequest) error {
	err := a.service().DisableTwoFactor(a.context(), a.principal, a.segment("user"))
	return a.answer(http.StatusOK, succeeded{Success: true}, err)
}

func newBackupCodes(a *apiRequest) error {
	codes, err := a.service().NewBackupCodes(a.context(), a.principal, a.segment("user"))
	return a.answer(http.StatusOK, struct {
		Codes []string `json:"backup_codes"`
	}{codes}, err)
}

func cancelEmailChange(a *apiRequest) error {
	v, err := a.service().CancelEmailChange(a.context(), a.principal)
	return a.answer(http.StatusOK, v, err)
}

var requestEmailVerification = changeWith(http.StatusOK, func(a *apiRequest, request management.EmailRequest) (succeeded, error) {
	return succeeded{Success: true}, a.service().RequestEmailVerification(a.context(), a.principal, request)
})

var verifyEmail = changeWith(http.StatusOK, func(a *apiRequest, proof management.EmailProof) (succeeded, error) {
	token, err := a.service().VerifyEmail(a.context(), a.client(), proof)
	return succeeded{true, token}, err
})

// listKeys answers with all keys of a user. There are few, so there are no pages.
func listKeys(a *apiRequest) error {
	keys, err := a.service().Keys(a.context(), a.principal)
	return a.answer(http.StatusOK, keys, err)
}

// addMember answers 201 with the member, or 202 if the address is only invited
// (management.md §8.4).
func addMember(a *apiRequest) error {
	var patch management.MemberPatch
	if err := a.decode(&patch); err != nil {
		return err
	}
	member, invitation, err := a.service().AddMember(a.context(), a.principal, a.segment("organization"), patch)
	if invitation != nil {
		return a.answer(http.StatusAccepted, invitation, err)
	}
	return a.answer(http.StatusCreated, member, err)
}

func withdrawInvitation(a *apiRequest) error {
	return a.done(a.service().WithdrawInvitation(a.context(), a.principal, a.segment("organization"), a.segment("invitation")))
}

func openInvitation(a *apiRequest) error {
	v, err := a.service().OpenInvitation(a.context(), a.segment("token"))
	return a.answer(http.StatusOK, v, err)
}

var acceptInvitation = changeWith(http.StatusCreated, func(a *apiRequest, acceptance management.Acceptance) (*management.MemberView, error) {
	return a.service().AcceptInvitation(a.context(), a.principal, a.segment("token"), acceptance)
})

func endSession(a *apiRequest) error {
	return a.done(a.service().EndSession(a.context(), a.principal, a.segment("user"), a.segment("session")))
}

var requestPasswordReset = changeWith(http.StatusOK, func(a *apiRequest, request management.PasswordResetRequest) (succeeded, error) {
	return succeeded{Success: true}, a.service().RequestPasswordReset(a.context(), request)
})

func openPasswordReset(a *apiRequest) error {
	v, err := a.service().OpenLink(a.context(), storage.LinkPasswordReset, a.segment("token"))
	return a.answer(http.StatusOK, v, err)
}

var resetPassword = changeWith(http.StatusOK, func(a *apiRequest, chosen management.ChosenPassword) (succeeded, error) {
	return succeeded{Success: true}, a.service().ResetPassword(a.context(), a.segment("token"), chosen)
})

var updateMember = changeWith(http.StatusOK, func(a *apiRequest, patch management.MemberPatch) (*management.MemberView, error) {
	return a.service().UpdateMember(a.context(), a.principal, a.segment("organization"), a.segment("user"), patch)
})

func removeMember(a *apiRequest) error {
	return a.done(a.service().RemoveMember(a.context(), a.principal, a.segment("organization"), a.segment("user")))
}

// inItsOrganization returns an error if a path names an organization and a project
// of another one.
func inItsOrganization(a *apiRequest) error {
	organization := a.segment("organization")
	if organization == "" {
		return nil
	}
	access, err := a.service().Access(a.context(), a.principal, a.segment("project"))
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
