// box.weather(): samples, for demos and tests that must not depend on the sky.

import type { Tool } from '../../tools/tool.ts'
import { getForecast } from './get-forecast.ts'
import { getWeather } from './get-weather.ts'

export const weather = (): Tool[] => [getWeather, getForecast]
