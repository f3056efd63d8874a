package server

// apiRoutes are the routes of a server that has a management.Service. Literal
// segments win over wildcards, in whatever order they stand here (see ServeMux).
var apiRoutes = []route{
	apiRoute("/api/users", methods{get: listUsers}),
	apiRoute("/api/users/cancel_email_change_request", methods{patch: cancelEmailChange}),
	apiRoute("/api/users/request_email_verification", methods{post: requestEmailVerification, open: true}),
	apiRoute("/api/users/verify_email", methods{post: verifyEmail, open: true}),
	apiRoute("/api/users/{user}", methods{
		get: read("user", (*service).User), patch: change("user", (*service).UpdateUser), delete: remove("user", (*service).DeleteUser),
	}),
	apiRoute("/api/users/{user}/hedgehog_config", methods{get: read("user", (*service).Hedgehog), patch: setHedgehog, document: true}),
	apiRoute("/api/users/{user}/scene_personalisation", methods{post: change("user", (*service).SetScene)}),
	apiRoute("/api/users/{user}/start_2fa_setup", methods{get: read("user", (*service).StartTwoFactor)}), // older name
	apiRoute("/api/users/{user}/two_factor_start_setup", methods{get: read("user", (*service).StartTwoFactor)}),
	apiRoute("/api/users/{user}/validate_2fa", methods{post: confirmTwoFactor}), // older name
	apiRoute("/api/users/{user}/two_factor_validate", methods{post: confirmTwoFactor}),
	apiRoute("/api/users/{user}/two_factor_status", methods{get: read("user", (*service).TwoFactorStatus)}),
	apiRoute("/api/users/{user}/two_factor_backup_codes", methods{post: newBackupCodes}),
	apiRoute("/api/users/{user}/two_factor_disable", methods{post: disableTwoFactor}),
	apiRoute("/api/users/{user}/sessions", methods{get: read("user", (*service).Sessions), delete: remove("user", (*service).EndOtherSessions)}),
	apiRoute("/api/users/{user}/sessions/{session}", methods{delete: endSession}),

	apiRoute("/api/personal_api_keys", methods{get: listKeys, post: create((*service).CreateKey)}),
	apiRoute("/api/personal_api_keys/{key}", methods{
		get: read("key", (*service).Key), patch: change("key", (*service).UpdateKey), delete: remove("key", (*service).DeleteKey),
	}),
	apiRoute("/api/personal_api_keys/{key}/roll", methods{post: read("key", (*service).RollKey)}),

	apiRoute("/api/organizations", methods{get: listPage((*service).ListOrganizations), post: create((*service).CreateOrganization)}),
	apiRoute("/api/organizations/{organization}", methods{
		get:    read("organization", (*service).GetOrganization),
		patch:  change("organization", (*service).UpdateOrganization),
		delete: remove("organization", (*service).DeleteOrganization),
	}),
	apiRoute("/api/organizations/{organization}/members", methods{get: listIn((*service).ListMembers), post: addMember}),
	apiRoute("/api/organizations/{organization}/members/{user}", methods{patch: updateMember, delete: removeMember}),
	apiRoute("/api/organizations/{organization}/invites", methods{get: listIn((*service).ListInvitations), post: createIn((*service).Invite)}),
	apiRoute("/api/organizations/{organization}/invites/{invitation}", methods{delete: withdrawInvitation}),
	apiRoute("/api/organizations/{organization}/projects", methods{get: listIn((*service).ListProjects), post: createIn((*service).CreateProject)}),

	apiRoute("/api/password_reset", methods{post: requestPasswordReset, open: true}),
	apiRoute("/api/password_reset/{token}", methods{get: openPasswordReset, post: resetPassword, open: true}),
	apiRoute("/api/signup/{token}", methods{get: openInvitation, post: acceptInvitation, open: true}),

	apiRoute("/api/projects", methods{get: listIn((*service).ListProjects), post: createIn((*service).CreateProject)}),
	routeInProject("", methods{
		get: read("project", (*service).GetProject), patch: change("project", (*service).UpdateProject), delete: remove("project", (*service).DeleteProject),
	}),
	routeInProject("/reset_token", bothMethods(read("project", (*service).ResetToken))),
	routeInProject("/rotate_secret_token", bothMethods(read("project", (*service).RotateSecretToken))),
	routeInProject("/delete_secret_token_backup", bothMethods(read("project", (*service).DeleteSecretTokenBackup))),
}

// unknownAPIRoute answers all other paths below /api.
var unknownAPIRoute = route{
	path: "/api", failure: apiFailure,
	every: func(s *Server, x *exchange) error {
		s.setAPIHeaders(x)
		return errNotFound
	},
}

func apiRoute(path string, m methods) route {
	return route{path: path, failure: apiFailure, every: func(s *Server, x *exchange) error { return s.api(x, &m) }}
}

// routeInProject is a route for what belongs to one project. It has three addresses:
// the newer clients of PostHog call projects environments (management.md §1.5).
func routeInProject(path string, m methods) route {
	m.before = inItsOrganization
	rt := apiRoute("/api/projects/{project}"+path, m)
	rt.aliases = []string{"/api/environments/{project}" + path, "/api/organizations/{organization}/projects/{project}" + path}
	return rt
}

// bothMethods is for actions that clients send with either method.
func bothMethods(action Operation) methods { return methods{post: action, patch: action} }
