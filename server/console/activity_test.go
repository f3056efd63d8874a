package console_test

import "testing"

func TestActivity(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/activity").want(200, "Activity").checkPage()
	s.update("retired", `{"name":"Other words","active":true}`)
	a := s.get("/projects/1/activity").want(200, address+" updated the flag retired", "description", "Other words", "on false → true")
	a.checkPage()
	s.get("/projects/1/activity?scope=Cohort").want(200, "Show everything").checkPage()
	s.get("/projects/1/activity?scope=FeatureFlag&item=retired").want(200, "1 to 2 of 2 entries").checkPage()
	s.get("/projects/1/activity?page=99").want(404).checkPage()
}

func TestProblems(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/problems").want(200, "warning power-tools condition 1, filter 1", "the cohort is empty", "Choose another one.", "1 finding").checkPage()
	s.get("/projects/1/flags/power-tools").want(200, "power-tools").checkPage() // where it leads to
}
