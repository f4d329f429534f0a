"""Control code for the microcontrollers of columns (CERT): what its passes share."""
