"""`solve_impact` as a differentiable function of JAX and PyTorch: `carom.autodiff.jax`, `carom.autodiff.torch`."""
