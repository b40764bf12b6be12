"""The declaration of public functions: their arguments, methods, forms and errors."""
