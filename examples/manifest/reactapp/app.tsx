// Shows flags by hooks that the program openfeature has generated from the manifest of a
// server, in openfeature.ts. ../run generates them.
import { useCheckoutButton, useFreeSeats, useGrid, useNewDashboard } from "./openfeature";

export function Dashboard() {
  const seats: number = useFreeSeats().value;
  const button: string = useCheckoutButton().value;
  const { value: grid } = useGrid();
  if (!useNewDashboard().value) {
    return <p>The dashboard as it was</p>;
  }
  return (
    <main className={button} data-grid={JSON.stringify(grid)}>
      {seats} free seats
    </main>
  );
}
