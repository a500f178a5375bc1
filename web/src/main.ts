import { mount } from 'svelte';
import App from './App.svelte';
import { registerWorker } from './lib/worker';
import './app.css';

mount(App, { target: document.body });
if (import.meta.env.PROD) registerWorker();
