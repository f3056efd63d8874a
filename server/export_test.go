package server

// BudgetLeft returns how much memory for bodies no request has.
func (s *Server) BudgetLeft() int64 { return s.budget.left.Load() }
