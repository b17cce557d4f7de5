"""What a rank observes for the laws, and sends to the process that judges: after steps, passes over data, waits."""
