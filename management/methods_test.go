package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pquerna/otp/totp"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A method is a call of a method of Service that succeeds, by Ada.
type method struct {
	name  string            // of the method, and what is special about the call
	scope management.Scope  // that a key needs; "*" for one that may do everything; "" for none
	also  management.Scope  // that it needs besides; "" for none
	kind  methodKind        // which restrictions of keys matter
	step  sensitivity       // management.md §1.8
	once  string            // what is missing when it is done again, as fault says it
	log   []string          // the entries of the activity log, newest first
	sees  bool              // persons are there then, whatever becomes of the rest
	early bool              // it is logged before it happens, outside of the store's transactions (doc.go)
	first func(c *callable) // prepares the call
	call  func(c *callable) error
}

type sensitivity uint8

const (
	notWithKeys sensitivity = iota + 1 // in MutationsOff
	withProof                          // nor without a Proof in MutationsStepUp
)

type methodKind uint8

const (
	ofNobody       methodKind = iota // it has no Principal
	ofUser                           // management.md §1.5: restricted keys only read
	ofOrganization                   // keys restricted to projects may not
	ofProject                        // keys restricted to other projects or organizations may not
	ofKeys                           // no restricted key may
)

// A callable is what a method is called with.
type callable struct {
	*world
	ctx    context.Context
	p      *management.Principal
	acme   string // its ID
	web    string
	key    string // ID of a key of Ada
	value  string // of the key
	secret string // of Ada's authenticator
	token  string // to verify an address
	id     string // of what is managed in the project
}

func methods() []method {
	enrol := func(c *callable) { c.secret = c.enrol(c.ada) }
	pending := func(c *callable) {
		c.ada.PendingEmail = "ada@elsewhere.example.com"
		c.put(c.ada)
	}
	asStaff := func(c *callable) {
		c.ada.Staff = true
		c.put(c.ada)
	}
	invited := func(email string) func(c *callable) {
		return func(c *callable) {
			c.mails()
			view := must(c.Invite(c.t.Context(), c.as(c.ada), c.acme, management.InvitationPatch{Email: optional.Of(email)}))(c.t)
			c.id, c.token = view.ID.String(), invitationIn(c.t, c.mails()[0])
		}
	}
	signedIn := func(c *callable) {
		c.token = must(c.OpenSession(c.t.Context(), c.ada.Email, staple, management.Client{}))(c.t).Token
		list := must(c.store.Sessions().List(c.t.Context(), storage.SessionUser.Is(c.ada.ID)))(c.t)
		c.id = list[0].ID.String()
	}
	linked := func(c *callable) { c.token = must(c.NewSignInLink(c.t.Context(), c.ada.Email))(c.t) }
	return slices.Concat(managedMethods(), capturedMethods(), []method{
		{
			name: "ListUsers", scope: "user:read", kind: ofUser,
			call: func(c *callable) error { return second(c.ListUsers(c.ctx, c.p, storage.UserFilter{}, 10, 0)) },
		},
		{
			name: "User", scope: "user:read", kind: ofUser,
			call: func(c *callable) error { return second(c.User(c.ctx, c.p, "@me")) },
		},
		{
			name: "User without a current project", scope: "user:read", kind: ofUser,
			first: func(c *callable) {
				c.ada.CurrentOrganization, c.ada.CurrentProject = nil, nil
				c.put(c.ada)
			},
			call: func(c *callable) error { return second(c.User(c.ctx, c.p, "@me")) },
		},
		{
			name: "UpdateUser", scope: "user:write", kind: ofUser, log: []string{"User updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateUser(c.ctx, c.p, "@me", management.UserPatch{
					FirstName: optional.Of("Adele"), SetCurrentTeam: anyJSON(c.app.ID), NotificationSettings: anyJSON(map[string]bool{"plugin_disabled": false}),
				}))
			},
		},
		{
			name: "UpdateUser with an address", scope: "user:write", kind: ofUser, step: withProof, log: []string{"User updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateUser(c.ctx, c.p, "@me", management.UserPatch{Email: optional.Of("ada@elsewhere.example.com")}))
			},
		},
		{
			name: "UpdateUser with a password", scope: "user:write", kind: ofUser, step: withProof,
			log:  []string{"User updated by ada in Acme", "PersonalAPIKey deleted by ada in Acme"},
			once: "invalid incorrect_password current_password",
			call: func(c *callable) error {
				return second(c.UpdateUser(c.ctx, c.p, "@me", management.UserPatch{
					Password: optional.Of("another-Horse-42-battery"), CurrentPassword: optional.Of(staple),
				}))
			},
		},
		{
			name: "UpdateUser of the staff", scope: "user:write", kind: ofUser, log: []string{"User updated by ada in nothing"},
			first: asStaff,
			call: func(c *callable) error {
				return second(c.UpdateUser(c.ctx, c.p, c.sam.UUID.String(), management.UserPatch{FirstName: optional.Of("Samuel")}))
			},
		},
		{
			name: "NoteIntro", scope: "user:write", kind: ofUser,
			call: func(c *callable) error {
				return c.NoteIntro(c.ctx, c.p, "tour", json.RawMessage(`{"step":1}`))
			},
		},
		{
			name: "FlagsMade", scope: "user:read", kind: ofUser,
			call: func(c *callable) error { return second(c.FlagsMade(c.ctx, c.p)) },
		},
		{
			name: "Hedgehog", scope: "user:read", kind: ofUser,
			call: func(c *callable) error { return second(c.Hedgehog(c.ctx, c.p, "@me")) },
		},
		{
			name: "SetHedgehog", scope: "user:write", kind: ofUser, log: []string{"User updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.SetHedgehog(c.ctx, c.p, "@me", json.RawMessage(`{"version":2}`)))
			},
		},
		{
			name: "SetScene", scope: "user:write", kind: ofUser, log: []string{"User updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.SetScene(c.ctx, c.p, "@me", management.ScenePatch{Scene: optional.Of("Person"), Dashboard: anyJSON(42)}))
			},
		},
		{
			name: "CancelEmailChange", scope: "user:write", kind: ofUser, step: withProof,
			log: []string{"User updated by ada in Acme"}, once: "invalid email_change_request_not_found", first: pending,
			call: func(c *callable) error { return second(c.CancelEmailChange(c.ctx, c.p)) },
		},
		{
			name: "StartTwoFactor", scope: "user:write", kind: ofUser, step: notWithKeys,
			call: func(c *callable) error { return second(c.StartTwoFactor(c.ctx, c.p, "@me")) },
		},
		{
			name: "ConfirmTwoFactor", scope: "user:write", kind: ofUser, step: withProof,
			log: []string{"User two_factor_enabled by ada in Acme"}, once: "invalid setup_expired",
			first: func(c *callable) {
				c.secret = must(c.StartTwoFactor(c.t.Context(), c.as(c.ada), "@me"))(c.t).Secret
			},
			call: func(c *callable) error {
				return c.ConfirmTwoFactor(c.ctx, c.p, "@me", tokenFor(c.code(c.secret, 0)))
			},
		},
		{
			name: "TwoFactorStatus", scope: "user:read", kind: ofUser, first: enrol,
			call: func(c *callable) error { return second(c.TwoFactorStatus(c.ctx, c.p, "@me")) },
		},
		{
			name: "NewBackupCodes", scope: "user:write", kind: ofUser, step: withProof, first: enrol,
			log:  []string{"User backup_codes_replaced by ada in Acme"},
			call: func(c *callable) error { return second(c.NewBackupCodes(c.ctx, c.p, "@me")) },
		},
		{
			name: "DisableTwoFactor", scope: "user:write", kind: ofUser, step: withProof, first: enrol,
			log:  []string{"User two_factor_disabled by ada in Acme"},
			call: func(c *callable) error { return c.DisableTwoFactor(c.ctx, c.p, "@me") },
		},
		{
			name: "Sessions", scope: "user:read", kind: ofUser, first: signedIn,
			call: func(c *callable) error { return second(c.Sessions(c.ctx, c.p, "@me")) },
		},
		{
			name: "EndSession", scope: "user:write", kind: ofUser, first: signedIn, log: []string{"User session_ended by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.EndSession(c.ctx, c.p, "@me", c.id) },
		},
		{
			name: "EndOtherSessions", scope: "user:write", kind: ofUser, first: signedIn, log: []string{"User other_sessions_ended by ada in Acme"},
			call: func(c *callable) error { return c.EndOtherSessions(c.ctx, c.p, "@me") },
		},
		{
			name: "OpenSession", log: []string{"User signed_in by ada in Acme"},
			call: func(c *callable) error {
				return second(c.OpenSession(c.ctx, c.ada.Email, staple, management.Client{}))
			},
		},
		{
			name: "AuthenticateSession", first: signedIn,
			call: func(c *callable) error { return second(c.AuthenticateSession(c.ctx, c.token, management.Client{})) },
		},
		{
			name: "RenewSession", first: signedIn,
			call: func(c *callable) error {
				own := must(c.AuthenticateSession(c.t.Context(), c.token, management.Client{}))(c.t)
				token, err := c.Service.RenewSession(c.ctx, own)
				if err == nil {
					c.token = token
				}
				return err
			},
		},
		{
			name: "CloseSession", first: signedIn, log: []string{"User signed_out by ada in Acme"},
			call: func(c *callable) error { return c.CloseSession(c.ctx, c.token) },
		},
		{
			name: "RequestPasswordReset",
			call: func(c *callable) error {
				return c.RequestPasswordReset(c.ctx, management.PasswordResetRequest{Email: optional.Of(c.ada.Email)})
			},
		},
		{
			name: "OpenLink", first: linked,
			call: func(c *callable) error { return second(c.OpenLink(c.ctx, storage.LinkSignIn, c.token)) },
		},
		{
			name: "NewSignInLink", log: []string{"User sign_in_link_created by the system in Acme"},
			call: func(c *callable) error { return second(c.NewSignInLink(c.ctx, c.ada.Email)) },
		},
		{
			name: "UseSignInLink", first: linked, log: []string{"User signed_in by ada in Acme"}, once: "invalid invalid_token token",
			call: func(c *callable) error { return second(c.UseSignInLink(c.ctx, c.token, nil, management.Client{})) },
		},
		{
			name: "ResetPassword", log: []string{"User updated by ada in Acme", "PersonalAPIKey deleted by ada in Acme"}, once: "invalid invalid_token token",
			first: func(c *callable) {
				c.mails()
				c.ok(c.RequestPasswordReset(c.t.Context(), management.PasswordResetRequest{Email: optional.Of(c.ada.Email)}))
				c.token = resetIn(c.t, c.mails()[0])
			},
			call: func(c *callable) error {
				return c.ResetPassword(c.ctx, c.token, management.ChosenPassword{Password: optional.Of("another-Horse-42-battery")})
			},
		},
		{
			name: "DeleteUser", scope: "user:write", kind: ofUser, step: withProof,
			log:  []string{"User deleted by nobody in Acme", "Organization deleted by nobody in gone"},
			once: "not found not_found",
			first: func(c *callable) {
				c.level(c.ben, storage.LevelOwner)
				own := c.organization("Own")
				c.project(own, "Own")
				c.join(c.ada, own, storage.LevelOwner, nil)
			},
			call: func(c *callable) error { return c.DeleteUser(c.ctx, c.p, "@me") },
		},
		{
			name: "Keys", scope: "*", kind: ofKeys,
			call: func(c *callable) error { return second(c.Keys(c.ctx, c.p)) },
		},
		{
			name: "Key", scope: "*", kind: ofKeys,
			call: func(c *callable) error { return second(c.Key(c.ctx, c.p, c.key)) },
		},
		{
			name: "CreateKey", scope: "*", kind: ofKeys, step: withProof, log: []string{"PersonalAPIKey created by ada in Acme"},
			call: func(c *callable) error {
				return second(c.CreateKey(c.ctx, c.p, management.KeyPatch{
					Label: optional.Of("ci"), Scopes: anyJSON([]string{"user:read"}),
					Projects: anyJSON([]int64{c.world.web.ID}), Organizations: anyJSON([]string{c.acme}),
				}))
			},
		},
		{
			name: "UpdateKey", scope: "*", kind: ofKeys, step: withProof, log: []string{"PersonalAPIKey updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateKey(c.ctx, c.p, c.key, management.KeyPatch{Label: optional.Of("renamed")}))
			},
		},
		{
			name: "RollKey", scope: "*", kind: ofKeys, step: withProof, log: []string{"PersonalAPIKey rolled by ada in Acme"},
			call: func(c *callable) error { return second(c.RollKey(c.ctx, c.p, c.key)) },
		},
		{
			name: "DeleteKey", scope: "*", kind: ofKeys, step: withProof, log: []string{"PersonalAPIKey deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.DeleteKey(c.ctx, c.p, c.key) },
		},
		{
			name: "ListOrganizations", scope: "organization:read", kind: ofOrganization,
			call: func(c *callable) error { return second(c.ListOrganizations(c.ctx, c.p, 10, 0)) },
		},
		{
			name: "GetOrganization", scope: "organization:read", kind: ofOrganization,
			call: func(c *callable) error { return second(c.GetOrganization(c.ctx, c.p, c.acme)) },
		},
		{
			name: "CreateOrganization", scope: "organization:write", kind: ofOrganization, log: []string{"Organization created by ada in New"},
			call: func(c *callable) error {
				return second(c.CreateOrganization(c.ctx, c.p, management.OrganizationPatch{Name: optional.Of("New")}))
			},
		},
		{
			name: "UpdateOrganization", scope: "organization:write", kind: ofOrganization, log: []string{"Organization updated by ada in Acme Ltd"},
			call: func(c *callable) error {
				return second(c.UpdateOrganization(c.ctx, c.p, c.acme, management.OrganizationPatch{Name: optional.Of("Acme Ltd")}))
			},
		},
		{
			name: "DeleteOrganization", scope: "organization:write", kind: ofOrganization, log: []string{"Organization deleted by ada in gone"},
			once: "not found not_found", call: func(c *callable) error { return c.DeleteOrganization(c.ctx, c.p, c.acme) },
		},
		{
			name: "ListMembers", scope: "organization_member:read", kind: ofOrganization,
			call: func(c *callable) error { return second(c.ListMembers(c.ctx, c.p, c.acme, 10, 0)) },
		},
		{
			name: "AddMember", scope: "organization_member:write", kind: ofOrganization, log: []string{"OrganizationInvite created by ada in Acme"},
			call: func(c *callable) error {
				return third(c.AddMember(c.ctx, c.p, c.acme, management.MemberPatch{Email: optional.Of(c.eve.Email)}))
			},
		},
		{
			name: "AddMember by the staff", scope: "organization_member:write", kind: ofOrganization, once: "conflict conflict", first: asStaff,
			log: []string{"OrganizationMembership created by ada in Acme"},
			call: func(c *callable) error {
				return third(c.AddMember(c.ctx, c.p, c.acme, management.MemberPatch{Email: optional.Of(c.eve.Email)}))
			},
		},
		{
			name: "AddMember who has no account, by the staff", scope: "organization_member:write", kind: ofOrganization, once: "conflict conflict", first: asStaff,
			log: []string{"OrganizationMembership created by ada in Acme", "User created by ada in nothing"},
			call: func(c *callable) error {
				return third(c.AddMember(c.ctx, c.p, c.acme, management.MemberPatch{Email: optional.Of("fay@example.com")}))
			},
		},
		{
			name: "Invite", scope: "organization_member:write", kind: ofOrganization, log: []string{"OrganizationInvite created by ada in Acme"},
			call: func(c *callable) error {
				return second(c.Invite(c.ctx, c.p, c.acme, management.InvitationPatch{Email: optional.Of("fay@example.com")}))
			},
		},
		{
			name: "ListInvitations", scope: "organization_member:read", kind: ofOrganization, first: invited("fay@example.com"),
			call: func(c *callable) error { return second(c.ListInvitations(c.ctx, c.p, c.acme, 10, 0)) },
		},
		{
			name: "WithdrawInvitation", scope: "organization_member:write", kind: ofOrganization, first: invited("fay@example.com"),
			log: []string{"OrganizationInvite deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.WithdrawInvitation(c.ctx, c.p, c.acme, c.id) },
		},
		{
			name: "AcceptInvitation", scope: "user:write", kind: ofUser, once: "invalid invalid_token token",
			log: []string{"OrganizationInvite accepted by ada in Umbra", "OrganizationMembership created by ada in Umbra"},
			first: func(c *callable) {
				c.mails()
				must(c.Invite(c.t.Context(), c.as(c.dov), c.umbra.ID.String(), management.InvitationPatch{Email: optional.Of(c.ada.Email)}))(c.t)
				c.token = invitationIn(c.t, c.mails()[0])
			},
			call: func(c *callable) error {
				return second(c.AcceptInvitation(c.ctx, c.p, c.token, management.Acceptance{}))
			},
		},
		{
			name: "UpdateMember", scope: "organization_member:write", kind: ofOrganization, log: []string{"OrganizationMembership updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateMember(c.ctx, c.p, c.acme, c.cyd.UUID.String(), management.MemberPatch{Level: optional.Of(storage.LevelAdmin)}))
			},
		},
		{
			name: "RemoveMember", scope: "organization_member:write", kind: ofOrganization, once: "not found not_found",
			log:  []string{"OrganizationMembership deleted by ada in Acme"},
			call: func(c *callable) error { return c.RemoveMember(c.ctx, c.p, c.acme, c.cyd.UUID.String()) },
		},
		{
			name: "ListProjects", scope: "project:read", kind: ofOrganization,
			call: func(c *callable) error { return second(c.ListProjects(c.ctx, c.p, "", 10, 0)) },
		},
		{
			name: "ListProjects of an organization", scope: "project:read", kind: ofOrganization,
			call: func(c *callable) error { return second(c.ListProjects(c.ctx, c.p, c.acme, 10, 0)) },
		},
		{
			name: "CreateProject", scope: "project:write", kind: ofOrganization, log: []string{"Project created by ada in Acme"},
			call: func(c *callable) error {
				return second(c.CreateProject(c.ctx, c.p, c.acme, management.ProjectPatch{Name: optional.Of("New")}))
			},
		},
		{
			name: "CreateProject without a current one", scope: "project:write", kind: ofOrganization, log: []string{"Project created by ada in Acme"},
			first: func(c *callable) {
				c.ada.CurrentProject = nil
				c.put(c.ada)
			},
			call: func(c *callable) error {
				return second(c.CreateProject(c.ctx, c.p, c.acme, management.ProjectPatch{Name: optional.Of("New")}))
			},
		},
		{
			name: "Access", scope: "survey:read", kind: ofProject,
			call: func(c *callable) error { return second(c.Access(c.ctx, c.p, c.web, "survey:read")) },
		},
		{
			name: "GetProject", scope: "project:read", kind: ofProject,
			call: func(c *callable) error { return second(c.GetProject(c.ctx, c.p, c.web)) },
		},
		{
			name: "UpdateProject", scope: "project:write", kind: ofProject, log: []string{"Project updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateProject(c.ctx, c.p, c.web, management.ProjectPatch{Timezone: optional.Of("Europe/Zurich")}))
			},
		},
		{
			name: "ResetToken", scope: "project:write", kind: ofProject, log: []string{"Project updated by ada in Acme"},
			call: func(c *callable) error { return second(c.ResetToken(c.ctx, c.p, c.web)) },
		},
		{
			name: "RotateSecretToken", scope: "project:write", kind: ofProject, log: []string{"Project updated by ada in Acme"},
			call: func(c *callable) error { return second(c.RotateSecretToken(c.ctx, c.p, c.web)) },
		},
		{
			name: "DeleteSecretTokenBackup", scope: "project:write", kind: ofProject, log: []string{"Project updated by ada in Acme"},
			first: func(c *callable) {
				c.world.web.SecretPrevHash = storage.HashKey("phs_old")
				c.ok(c.store.Projects().Update(c.t.Context(), c.world.web))
			},
			call: func(c *callable) error { return second(c.DeleteSecretTokenBackup(c.ctx, c.p, c.web)) },
		},
		{
			name: "DeleteProject", scope: "project:write", kind: ofProject, log: []string{"Project deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.DeleteProject(c.ctx, c.p, c.web) },
		},

		// What has no Principal.
		{
			name: "OpenInvitation", first: invited("fay@example.com"),
			call: func(c *callable) error { return second(c.OpenInvitation(c.ctx, c.token)) },
		},
		{
			name: "AcceptInvitation without an account", first: invited("fay@example.com"), once: "invalid invalid_token token",
			log: []string{"OrganizationInvite accepted by fay in Acme", "OrganizationMembership created by fay in Acme", "User created by fay in nothing"},
			call: func(c *callable) error {
				return second(c.AcceptInvitation(c.ctx, nil, c.token, management.Acceptance{Password: optional.Of("another-Horse-42-battery")}))
			},
		},
		{name: "PrincipalOf", call: func(c *callable) error { return second(c.PrincipalOf(c.ctx, c.ada.UUID)) }},
		{name: "Authenticate", call: func(c *callable) error { return second(c.Authenticate(c.ctx, c.value, "the Authorization header")) }},
		{
			name: "CreateUser", log: []string{"User created by the system in nothing"}, once: "conflict unique email",
			call: func(c *callable) error {
				return second(c.CreateUser(c.ctx, management.NewUser{Email: "fay@example.com", Password: staple}))
			},
		},
		{
			name: "IssueKey", log: []string{"PersonalAPIKey created by ada in Acme"},
			call: func(c *callable) error { return second(c.IssueKey(c.ctx, c.ada.Email, "ci")) },
		},
		{name: "SignIn", call: func(c *callable) error { return second(c.SignIn(c.ctx, c.ada.Email, staple)) }},
		{
			name: "NeedsSecondFactor", first: enrol,
			call: func(c *callable) error { return second(c.NeedsSecondFactor(c.ctx, c.ada.UUID)) },
		},
		{
			name: "VerifySecondFactor", first: enrol,
			call: func(c *callable) error {
				result, err := c.VerifySecondFactor(c.ctx, c.ada.UUID, c.code(c.secret, 0))
				if err == nil && !result.OK {
					c.t.Error("the code is wrong")
				}
				return err
			},
		},
		{
			name: "VerifyEmail", log: []string{"User updated by ada in Acme"}, once: "invalid invalid_token token",
			first: func(c *callable) {
				pending(c)
				c.mails()
				c.ok(c.RequestEmailVerification(c.t.Context(), nil, management.EmailRequest{UUID: optional.Of(c.ada.UUID.String())}))
				c.token = tokenIn(c.t, c.mails()[0])
			},
			call: func(c *callable) error {
				return second(c.VerifyEmail(c.ctx, netip.MustParseAddr("192.0.2.1"), management.EmailProof{
					UUID: optional.Of(c.ada.UUID.String()), Token: optional.Of(c.token),
				}))
			},
		},
		{
			name: "RequestEmailVerification",
			call: func(c *callable) error {
				return c.RequestEmailVerification(c.ctx, nil, management.EmailRequest{UUID: optional.Of(c.ada.UUID.String())})
			},
		},
	})
}

// second and third return the error of a call.
func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }

// callable prepares a world for a method.
func (m *method) callable(t *testing.T, configure ...func(*management.Config)) *callable {
	t.Helper()
	w := newWorld(t, append([]func(*management.Config){withData, func(c *management.Config) {
		c.DeleteEmptyOrganizations, c.RevokeKeysOnPasswordChange = true, true
	}}, configure...)...)
	c := &callable{world: w, ctx: t.Context(), acme: w.acme.ID.String(), web: strconv.FormatInt(w.web.ID, 10)}
	issued := must(w.IssueKey(t.Context(), w.ada.Email, "first"))(t)
	c.key, c.value = issued.ID, *issued.Value
	if m.first != nil {
		m.first(c)
	}
	c.mails()
	c.p = c.as(c.ada)
	return c
}

// level makes a member one of another level.
func (w *world) level(u *storage.User, level int) {
	w.t.Helper()
	m := must(w.store.Memberships().Get(w.t.Context(), storage.MembershipOrganization.Is(w.acme.ID), storage.MembershipUser.Is(u.ID)))(w.t)
	m.Level = level
	w.ok(w.store.Memberships().Update(w.t.Context(), m))
}

// enrol gives a user an authenticator and returns its secret. The code that
// confirmed it is of the step before now.
func (w *world) enrol(u *storage.User) string {
	w.t.Helper()
	secret := must(w.StartTwoFactor(w.t.Context(), w.as(u), "@me"))(w.t).Secret
	w.ok(w.ConfirmTwoFactor(w.t.Context(), w.as(u), "@me", tokenFor(w.code(secret, 0))))
	w.clock.advance(step(1))
	return secret
}

// tokenFor is for ConfirmTwoFactor.
func tokenFor(v any) management.TwoFactorPatch { return management.TwoFactorPatch{Token: anyJSON(v)} }

// optional returns a field that may hold any JSON.
func anyJSON(v any) optional.Value[json.RawMessage] {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return optional.Of(json.RawMessage(b))
}

// code returns what an authenticator shows, some steps from now.
func (w *world) code(secret string, steps int) string {
	w.t.Helper()
	return must(totp.GenerateCode(secret, w.clock.Now().Add(step(steps))))(w.t)
}

// Tables must not forget a method.
func TestMethodsAreAll(t *testing.T) {
	listed := make(map[string]bool)
	for _, m := range methods() {
		name, _, _ := strings.Cut(m.name, " ")
		listed[name] = true
	}
	// ConfirmSession uses a code up, as VerifySecondFactor, before its own transaction. Run
	// calls ExpireEvents.
	for _, free := range []string{"Run", "ExpireEvents", "MailAvailable", "Import", "ImportFile", "Apply", "UndoApplyHere", "ReleaseFiles", "Begin", "Atomic", "ConfirmSession"} {
		listed[free] = true
	}
	for method := range reflect.TypeFor[*management.Service]().Methods() {
		if !listed[method.Name] {
			t.Errorf("%s is not in methods()", method.Name)
		}
	}
}

func TestScopesOfMethods(t *testing.T) {
	for _, m := range methods() {
		if m.kind == ofNobody {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t)
			before := c.state().Activities
			object, action, _ := strings.Cut(string(m.scope), ":")
			// What a key lacks, in each way to lack it.
			lacking := [][]string{{"webhook:write"}, {object + "x:" + action}, {"user:write", "organization:write", "survey:write", "project:read"}}
			if action == "write" {
				lacking = append(lacking, []string{object + ":read"})
			}
			for _, have := range lacking {
				if slices.Contains(have, string(m.scope)) || action == "read" && slices.Contains(have, object+":write") {
					continue
				}
				c.p = c.world.key(c.ada, scopes(have...))
				err := m.call(c)
				checkFault(t, m.name+" with a key of "+strings.Join(have, " "), err, "forbidden permission_denied")
				e, ok := errors.AsType[*management.Error](err)
				if m.scope != "*" && ok && e.Detail != "API key missing required scope '"+string(m.scope)+"'" { // management.md §1.9
					t.Errorf("%s with a key of %s: %s; want it to name scope %s", m.name, have, e.Detail, m.scope)
				}
			}
			if diff := cmp.Diff(before, c.state().Activities); diff != "" {
				t.Errorf("activities (-before +after)\n%s", diff)
			}
			sufficient := []string{"*", string(m.scope)}
			if action == "read" {
				sufficient = append(sufficient, object+":write")
			}
			for _, scope := range sufficient {
				c := m.callable(t)
				c.p = c.world.key(c.ada, scopes(scope, string(m.also)))
				checkFault(t, m.name+" with a key of "+scope, m.call(c), "")
			}
			if m.also != "" {
				c := m.callable(t)
				c.p = c.world.key(c.ada, scopes(string(m.scope)))
				err := m.call(c)
				if checkFault(t, m.name+" with a key of "+string(m.scope), err, "forbidden permission_denied"); !strings.Contains(err.Error(), string(m.also)) {
					t.Errorf("%s: %v, want it to name scope %s", m.name, err, m.also)
				}
			}
			c = m.callable(t)
			c.p = c.world.key(c.ada, scopes()) // an empty list means all (management.md §1.3)
			checkFault(t, m.name+" with a key of all scopes", m.call(c), "")
		})
	}
}

// management.md §1.5: restrictions to projects and organizations.
func TestRestrictedKeys(t *testing.T) {
	const (
		allowed = ""
		refused = "forbidden permission_denied"
	)
	for _, tt := range []struct {
		name                              string
		restrict                          func(w *world) func(*storage.PersonalKey)
		user, organization, project, keys string
	}{
		{
			"to the project", func(w *world) func(*storage.PersonalKey) { return onlyProjects(w.web) },
			allowed, refused, allowed, refused,
		},
		{
			"to another project", func(w *world) func(*storage.PersonalKey) { return onlyProjects(w.app, w.shop) },
			allowed, refused, refused, refused,
		},
		{
			"to the organization", func(w *world) func(*storage.PersonalKey) { return onlyOrganizations(w.acme) },
			allowed, allowed, allowed, refused,
		},
		{
			"to another organization", func(w *world) func(*storage.PersonalKey) { return onlyOrganizations(w.umbra) },
			allowed, refused, refused, refused,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range methods() {
				want := map[methodKind]string{ofUser: tt.user, ofOrganization: tt.organization, ofProject: tt.project, ofKeys: tt.keys}[m.kind]
				switch m.name {
				case "ListOrganizations", "ListProjects": // leave out what the key may not see
					if tt.name == "to another organization" {
						want = allowed
					}
				case "CreateOrganization":
					want = refused
				}
				if m.kind == ofUser && m.scope == "user:write" {
					want = refused
				}
				if m.kind == ofNobody {
					continue
				}
				c := m.callable(t)
				c.p = c.world.key(c.ada, tt.restrict(c.world))
				checkFault(t, m.name, m.call(c), want)
			}
		})
	}
}

// management.md §1.5, step 5: organizations can forbid keys to members, but not
// to administrators and owners.
func TestKeysForbiddenByOrganization(t *testing.T) {
	for _, m := range methods() {
		if m.kind != ofOrganization && m.kind != ofProject {
			continue
		}
		for _, level := range []int{storage.LevelMember, storage.LevelAdmin, storage.LevelOwner} {
			c := m.callable(t)
			c.level(c.ada, level)
			c.level(c.ben, storage.LevelOwner)
			allowed := fault(m.call(c)) // without a key: what the level is good for
			c = m.callable(t)
			c.level(c.ada, level)
			c.level(c.ben, storage.LevelOwner)
			c.world.acme.MembersCanUseKeys = false
			c.ok(c.store.Organizations().Update(t.Context(), c.world.acme))
			c.p = c.world.key(c.ada)
			want := allowed
			switch {
			case m.name == "ListOrganizations", m.name == "ListProjects", m.name == "CreateOrganization":
			case level == storage.LevelMember:
				want = "forbidden permission_denied"
			}
			checkFault(t, m.name+" at level "+strconv.Itoa(level), m.call(c), want)
		}
	}
}

// What a method changes it says in the activity log, once for each thing, and
// nothing is said of what does not change.
func TestActivityOfMethods(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t)
			before := c.state()
			checkFault(t, m.name, m.call(c), "")
			after := c.state()
			var got []string
			for _, a := range after.Activities[:len(after.Activities)-len(before.Activities)] {
				got = append(got, c.describe(&a))
			}
			if diff := cmp.Diff(m.log, got); diff != "" {
				t.Errorf("activities (-want +got)\n%s", diff)
			}
			for i := range before.Activities {
				if m.name == "DeleteUser" {
					before.Activities[i].User = nil // management.md §4.7
				}
			}
			if diff := cmp.Diff(before.Activities, after.Activities[len(got):]); diff != "" {
				t.Errorf("earlier activities (-before +after)\n%s", diff)
			}
			// What is only a step on the way, or that something was used.
			silent := []string{"User without a current project", "StartTwoFactor", "Authenticate", "VerifySecondFactor", "DefinitionsAccess", "CountCohorts", "RenewSession", "NoteIntro"}
			before.Activities = after.Activities
			if m.sees {
				before.Persons = after.Persons
			}
			changed, want := !cmp.Equal(before, after, same), len(m.log) > 0 || slices.Contains(silent, m.name)
			want = want && m.name != "NewSignInLink" // a store does not list links
			if changed != want {
				t.Errorf("%s has changed the store: %t, want %t", m.name, changed, want)
			}
		})
	}
}

// describe says what an activity is about, as "User updated by ada in Acme".
func (w *world) describe(a *storage.Activity) string {
	w.t.Helper()
	who, where := "nobody", "nothing"
	switch {
	case a.System:
		who = "the system"
	case a.User != nil:
		u := must(w.store.Users().Get(w.t.Context(), storage.UserID.Is(*a.User)))(w.t)
		who, _, _ = strings.Cut(u.Email, "@")
	}
	if a.Organization != nil {
		where = "gone"
		if o, err := w.store.Organizations().Get(w.t.Context(), storage.OrganizationID.Is(*a.Organization)); err == nil {
			where = o.Name
		}
	}
	return a.Scope + " " + a.Activity + " by " + who + " in " + where
}

// Who has changed something once and does it again is told what is wrong, or
// changes nothing more.
func TestMethodsTwice(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t)
			checkFault(t, m.name, m.call(c), "")
			if m.name == "VerifySecondFactor" {
				return // the code is used up, see TestReplay
			}
			checkFault(t, m.name+" again", m.call(c), m.once)
		})
	}
}

// A change whose entry in the activity log cannot be written does not happen.
func TestNoChangeWithoutActivity(t *testing.T) {
	for _, m := range methods() {
		if len(m.log) == 0 {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			on := false
			c := m.callable(t, alter(&altered{
				addActivity: func(s storage.Store, ctx context.Context, entries ...*storage.Activity) error {
					if on {
						return errBroken
					}
					return s.AddActivity(ctx, entries...)
				},
			}))
			before := c.state()
			on = true
			if err := m.call(c); !errors.Is(err, errBroken) {
				t.Errorf("%s = %v, want %v", m.name, err, errBroken)
			}
			if m.sees {
				before.Persons = c.state().Persons
			}
			c.checkUnchanged(m.name, before)
			c.checkMails(m.name)
		})
	}
}

// A failing context ends when it is asked for the nth time. A store asks at each
// step, and so does what hashes passwords.
type failing struct {
	context.Context
	steps int
}

// Done returns nil, so that nothing else waits for the end and asks then.
func (f *failing) Done() <-chan struct{} { return nil }

func (f *failing) Err() error {
	if f.steps--; f.steps < 0 {
		return errBroken
	}
	return nil
}

// Whatever step fails: the failure is passed on as it is, nothing changes, and
// nobody gets mail about it. Every step fails once if tests run in full, and
// otherwise the first, the second, the fourth and so on.
func TestFailures(t *testing.T) {
	for _, m := range methods() {
		t.Run(m.name, func(t *testing.T) {
			usesKey := m.name == "Authenticate" || m.name == "DefinitionsAccess" // its last use is stored at once
			var c *callable
			var before *state
			for steps := 0; ; steps += fulltest.Count(steps, 0) + 1 {
				// What has changed nothing can be called again, until it is throttled.
				if c == nil || m.sees || m.early || usesKey || m.name == "User without a current project" {
					c = m.callable(t)
					before = c.state()
				}
				ctx := &failing{t.Context(), steps}
				c.ctx = ctx
				err := m.call(c)
				if e, ok := errors.AsType[*management.Error](err); ok && e.Kind == management.ErrThrottled {
					c, ctx.steps = m.callable(t), steps
					c.ctx, before = ctx, c.state()
					err = m.call(c)
				}
				if ctx.steps >= 0 {
					checkFault(t, m.name, err, "")
					return
				}
				if usesKey && err == nil {
					continue // the last use is not known
				}
				if _, isError := errors.AsType[*management.Error](err); isError || !errors.Is(err, errBroken) {
					t.Errorf("%s when step %d fails: %v, want %v", m.name, steps, err, errBroken)
				}
				if m.sees {
					before.Persons = c.state().Persons
				}
				if m.early {
					before.Activities = c.state().Activities
				}
				// One is chosen before the user is shown, and a key is used before it
				// is known for what.
				if m.name != "User without a current project" && m.name != "DefinitionsAccess" {
					c.checkUnchanged(m.name, before)
				}
				c.checkMails(m.name)
				if t.Failed() || steps > 1000 {
					t.Fatalf("after %d steps", steps)
				}
			}
		})
	}
}
