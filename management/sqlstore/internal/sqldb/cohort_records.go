package sqldb

import "github.com/flagstaff-go/flagstaff/management/storage"

var cohorts = newTable(table[storage.Cohort]{
	name: "cohort", noun: "a cohort", key: 2, serial: true, given: true,
	order: "project_id, id", touches: []string{"count", "last_calculation"},
	project: func(c *storage.Cohort) int64 { return c.Project },
	fields: func(c *storage.Cohort) []field {
		return []field{
			{"id", &c.ID},
			{"project_id", &c.Project},
			{"name", &c.Name},
			{"description", &c.Description},
			{"filters", criteria{&c.Criteria, &c.ID}},
			{"is_static", &c.Static},
			{"deleted", &c.Deleted},
			{"count", &c.Count},
			{"last_calculation", maybeMoment{&c.Calculated}},
			{"created_by", &c.CreatedBy},
			{"created_at", moment{&c.Created}},
		}
	},
})

// Cohorts implements [storage.Store].
func (a *accounts) Cohorts() storage.Table[storage.Cohort] { return port[storage.Cohort]{cohorts, a} }
