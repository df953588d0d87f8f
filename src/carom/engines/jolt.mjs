// One world of Jolt, driven by lines of JSON on the standard input: ["start", c], ["body", ...], ["plane", ...], ["step"].
// A step is answered by one line with the velocities of the bodies; the first line of the output names the version.
// The module is searched from the folder in which the program is started, where `npm install jolt-physics` puts it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const entry = createRequire(join(process.cwd(), "here.js")).resolve("jolt-physics");
const Jolt = await (await import(pathToFileURL(entry))).default();
const about = JSON.parse(readFileSync(join(dirname(entry), "..", "package.json")));
const [STEP, ITERATIONS] = process.argv.slice(2).map(Number);
const FIXED = 0, MOVING = 1; // object layers; boundaries do not meet each other

let jolt, world, bodies, restitution;

function layers(settings) {
  const pairs = new Jolt.ObjectLayerPairFilterTable(2);
  pairs.EnableCollision(FIXED, MOVING);
  pairs.EnableCollision(MOVING, MOVING);
  const broad = new Jolt.BroadPhaseLayerInterfaceTable(2, 2);
  broad.MapObjectToBroadPhaseLayer(FIXED, new Jolt.BroadPhaseLayer(0));
  broad.MapObjectToBroadPhaseLayer(MOVING, new Jolt.BroadPhaseLayer(1));
  settings.mObjectLayerPairFilter = pairs;
  settings.mBroadPhaseLayerInterface = broad;
  settings.mObjectVsBroadPhaseLayerFilter = new Jolt.ObjectVsBroadPhaseLayerFilterTable(broad, 2, pairs, 2);
}

function start(coefficient) {
  if (jolt) Jolt.destroy(jolt);
  const settings = new Jolt.JoltSettings();
  settings.mMaxWorkerThreads = 0;
  layers(settings);
  jolt = new Jolt.JoltInterface(settings);
  Jolt.destroy(settings);
  world = jolt.GetPhysicsSystem();
  world.SetGravity(new Jolt.Vec3(0, 0, 0));
  const physics = world.GetPhysicsSettings();
  physics.mNumVelocitySteps = ITERATIONS;
  physics.mMinVelocityForRestitution = 0; // by default approaches slower than 1 are inelastic
  physics.mPenetrationSlop = 0;
  physics.mConstraintWarmStart = false;
  physics.mAllowSleeping = false;
  world.SetPhysicsSettings(physics);
  restitution = coefficient;
  bodies = [];
}

function add(shape, position, kind, layer, velocity, mass) {
  const made = new Jolt.BodyCreationSettings(
    shape, new Jolt.RVec3(...position), new Jolt.Quat(0, 0, 0, 1), kind, layer);
  made.mRestitution = restitution;
  made.mFriction = 0;
  made.mLinearDamping = made.mAngularDamping = 0;
  made.mMaxLinearVelocity = made.mMaxAngularVelocity = 1e6;
  made.mApplyGyroscopicForce = true;
  made.mLinearVelocity = new Jolt.Vec3(...velocity.slice(0, 3));
  made.mAngularVelocity = new Jolt.Vec3(...velocity.slice(3));
  if (mass !== undefined) {
    made.mOverrideMassProperties = Jolt.EOverrideMassProperties_CalculateInertia;
    made.mMassPropertiesOverride.mMass = mass;
  }
  const access = world.GetBodyInterface();
  const body = access.CreateBody(made);
  access.AddBody(body.GetID(), Jolt.EActivation_Activate);
  return body;
}

const box = (half) => new Jolt.BoxShape(new Jolt.Vec3(...half), 0);

const answers = {
  start,
  body(mass, size, position, velocity) {
    const shape = size.length === 1 ? new Jolt.SphereShape(size[0]) : box(size);
    bodies.push(add(shape, position, Jolt.EMotionType_Dynamic, MOVING, velocity, mass));
  },
  parts(mass, parts, position, velocity) {
    const whole = new Jolt.StaticCompoundShapeSettings();
    for (const [center, half] of parts)
      whole.AddShapeShape(new Jolt.Vec3(...center), new Jolt.Quat(0, 0, 0, 1), box(half), 0);
    bodies.push(add(whole.Create().Get(), position, Jolt.EMotionType_Dynamic, MOVING, velocity, mass));
  },
  plane(center, half, rotation, speed) {
    const wall = add(box(half), center, Jolt.EMotionType_Kinematic, FIXED, [...speed, 0, 0, 0]);
    world.GetBodyInterface().SetRotation(wall.GetID(), new Jolt.Quat(...rotation), Jolt.EActivation_Activate);
  },
  step() {
    jolt.Step(STEP, 1);
    console.log(JSON.stringify(bodies.map((body) => {
      const v = body.GetLinearVelocity(), w = body.GetAngularVelocity();
      return [v.GetX(), v.GetY(), v.GetZ(), w.GetX(), w.GetY(), w.GetZ()];
    })));
  },
};

console.log(JSON.stringify({ version: about.version }));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  answers[name](...given);
}
