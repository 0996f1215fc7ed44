pragma page_size = 4096;
pragma auto_vacuum = incremental;
BEGIN TRANSACTION;
CREATE TABLE ZSFCHANGE (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZORDER INTEGER, ZTOKEN VARCHAR
);
CREATE TABLE ZSFCHANGEITEM (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZITEMDELETED INTEGER, ZCHANGE INTEGER,
  ZITEMENTITY VARCHAR, ZUNIQUEIDENTIFIER VARCHAR
);
CREATE TABLE ZSFEXTERNALCHANGES (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZITEMCHANGE INTEGER,
  ZITEMENTITY VARCHAR, ZITEMOBJECTID VARCHAR
);
CREATE TABLE ZSFINTERNALCHANGES (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZITEMCHANGE INTEGER,
  ZCHANGETYPE VARCHAR, ZITEMOBJECTID VARCHAR
);
CREATE TABLE ZSFNOTE (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZARCHIVED INTEGER, ZENCRYPTED INTEGER,
  ZHASFILES INTEGER, ZHASIMAGES INTEGER, ZHASSOURCECODE INTEGER, ZLOCKED INTEGER, ZORDER INTEGER,
  ZPERMANENTLYDELETED INTEGER, ZPINNED INTEGER, ZSHOWNINTODAYWIDGET INTEGER, ZSKIPSYNC INTEGER,
  ZTODOCOMPLETED INTEGER, ZTODOINCOMPLETED INTEGER, ZTRASHED INTEGER, ZVERSION INTEGER,
  ZPASSWORD INTEGER, ZSERVERDATA INTEGER, ZARCHIVEDDATE TIMESTAMP,
  ZCONFLICTUNIQUEIDENTIFIERDATE TIMESTAMP, ZCREATIONDATE TIMESTAMP, ZENCRYPTIONDATE TIMESTAMP,
  ZLOCKEDDATE TIMESTAMP, ZMODIFICATIONDATE TIMESTAMP, ZORDERDATE TIMESTAMP, ZPINNEDDATE TIMESTAMP,
  ZTRASHEDDATE TIMESTAMP, ZCONFLICTUNIQUEIDENTIFIER VARCHAR, ZENCRYPTIONUNIQUEIDENTIFIER VARCHAR,
  ZLASTEDITINGDEVICE VARCHAR, ZSUBTITLE VARCHAR, ZTEXT VARCHAR, ZTITLE VARCHAR,
  ZUNIQUEIDENTIFIER VARCHAR, ZENCRYPTEDDATA BLOB, ZVECTORCLOCK BLOB
);
INSERT INTO "ZSFNOTE" VALUES(1,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,779900400,NULL,NULL,779961900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# 1:1 with Priya
#work/one-on-ones

Priya is leaving! Last day is October 31. She goes to a hospital software company, four days a week, wants to see her mother more often. I was sadder than I showed.

Who follows: an outside hire, probably not before January. Until then I report to Mattias for daily things and to the CTO on paper.

She asked if I want her job. I said I''d rather make things than calendars, and it felt true while I said it. She laughed and said that''s what she''d said too.

Her advice, to keep: pick one meeting a quarter to stop attending, and see if anyone notices.

Farewell idea: bind the printed screens of all five redesigns into one fat book. Ask Wren for the 2020 files.','1:1 with Priya','7A25BB42-5E62-568B-855A-E11CAFF9E9B7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(2,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,697651200,NULL,NULL,697653900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# 1:1 with Priya
#work/one-on-ones

- She noticed that I say "just a small thing" before every objection. Try a week without it.
- I asked for fewer projects at once. She offers: drop the loyalty work, keep booking and the design system. Yes please.
- Feedback from Olu via her: my specs are good, but come in one heap on Thursday night. Send pieces earlier, even ugly ones.
- The raise cycle moves from April to July. She will put me forward for staff designer, and needs two written examples of work that changed another team''s plan.
- Teaching on Thursday evenings: fine, as long as I block the calendar.

My homework: the two examples by the end of the month.','1:1 with Priya','AA61CA73-FA37-5F4D-9CD4-15EDB9F54C36',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(3,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,2,2,0,NULL,NULL,NULL,NULL,NULL,706435200,NULL,NULL,709830900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Accessibility audit
#work/accessibility

An outside auditor spent three days with the website; the report has 61 findings, I sorted them into what we do now and what can wait.

| Where | Problem | Level | State |
|---|---|---|---|
| timetable | gray on gray, contrast 2.9:1 | AA | fixed |
| login | error only shown by a red border | A | fixed |
| seat notes | focus jumps to top after save | A | open |
| footer | links differ from text by color alone | A | open |
| help videos | no captions | A | waiting for vendor |

- [x] New gray: #5C6670, passes at 5.8:1 on white
- [x] Put the error in words, tie it with `aria-describedby`
- [ ] Keep focus where the person was
- [ ] Underline the footer

The best hour was watching Gil, who is blind, buy a ticket with VoiceOver at triple speed. He skips by headings. Our page had one. Now each departure is a heading.','Accessibility audit','3B1C0B02-3004-5FE8-9B18-4BEC6984021E',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(4,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,773485200,NULL,NULL,773688600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# After the outage
#work/meetings #work/bugs

No tickets could be sold on July 4 between 10:52 and 13:20. Of all days.

**What happened.** The certificate for the payment gateway expired. The reminder went to the mailbox of someone who left in March.

**What people did.** Crews let everybody on board and wrote names on clipboards. About 2,600 rides; 1,900 people paid afterward by themselves when we mailed them. I find that more interesting than the bug.

**What we change.**
- reminders go to a group, never to one person
- an honest banner within five minutes; ours took fifty because nobody knew who may publish it
- "pay later" stays in the app as an emergency mode: Olu already had it half built

No blame. Dee ordered ice cream for the crews.','After the outage','DABEA908-E97D-5024-8BA5-6EE1546B56F7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(5,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,746053200,NULL,NULL,746054100,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Avó''s recipe card
#recipes #Familie

She gave it to me on the last evening, wrapped in a napkin. Her handwriting is nearly gone, so I photographed it before the ink goes too.

![](IMG%202041.jpg)<!-- {"width":420} -->

To ask her while we can: which yeast, how long does it rest, and who ate the egg in the middle when she was small?','Avó''s recipe card','B0528AF5-4BE4-5B36-B0E8-9AAE240EDA96',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(6,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,665247600,NULL,NULL,777721500,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Backups
#home/tech

Photos and papers, every night at 2:30, to the little computer in Jonah''s attic. His come to ours.

```sh
export RESTIC_REPOSITORY=sftp:attic:/srv/nora
restic backup ~/Pictures ~/Papers --exclude ''*.tmp'' --tag nightly
restic forget --keep-daily 7 --keep-weekly 5 --keep-monthly 24 --prune
restic check --read-data-subset=2%
```

`Fatal: unable to create lock in backend: repository is already locked` means that a laptop went to sleep in the middle. `restic unlock`, once nobody is running.

==Tested a restore on Aug 24, 2025==: 3,112 pictures of 2019 came back, 11 minutes. An untested copy is only a wish.

The passphrase isn''t here. It''s where the passports are.','Backups','CB7E384A-5217-5574-8B23-85551DD8DBCE',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(7,5,1,0,1,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,1,NULL,NULL,NULL,636501600,761002200,NULL,761002200,NULL,NULL,NULL,NULL,'4266F3DE-FAB6-5AFD-8F6C-CF8CA3888B12',NULL,NULL,NULL,'Bank PINs and safe code','B551AE78-950B-5B54-84F2-0C403E2BF6C4',X'6D74509F25B891684A0849851481C7BC78D38927AD9C598C11968BF4DC60F7A2ED4201BA45389D29400F3710C048721FFCA4B847FFD1E49AE6A78587B23F92D81962B34E8CE4EB13377824F8D7BDFACEE2A33DEDAD394148BDE4E57ECA84D1411284313B4D1D3D74B4CF7DEAF6375C1BC435C9FDC4597ABF5988C87E013470F65C3573A85C561535E9703694496B880CAA153C1CA9C62816EAA817F33C53B54EEC383D37ECB2F247BCA627458D0538AE57F63664549094AF1B3F2FD208E8B1F343BE9C00A910CBD5EEE87D4BABC7FB0E3A6772EB6741F55BB1208A87A59324833CD3BB96F5559DE30C',NULL);
INSERT INTO "ZSFNOTE" VALUES(8,5,1,0,0,1,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,735904800,NULL,NULL,767520000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Bicycle insurance
#home/papers

Cargo bike, bought used for $2,900. Policy CB-7730-5521, $14 a month, renews on April 27.

[policy-cargo-bike.pdf](policy-cargo-bike.pdf)<!-- {"embed":"true"} -->

Theft: report to the police within 24 hours, send them both keys. The lock must be one from their list (ours is, receipt in the blue folder). Batteries count as wear after three years.','Bicycle insurance','587A6858-EC60-5E79-BF08-E7E67FFC8B8C',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(9,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,659826000,NULL,NULL,754816200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Boiler pressure
#home/appliances

Radiators cold, display blinks F22: the water pressure has fallen below 0.8. It should read 1.2 to 1.5 when cold.

1. Switch off, wait until the pipes are lukewarm.
2. Under the flap are two black taps. Open the left, then the right slowly. It hisses.
3. At 1.4 close right, then left.
4. Bleed the radiator in Zoë''s room first, it''s the highest.

![](boiler-label.jpg)

More often than twice a winter means a leak. In 2024 it was the valve behind the washing machine; plumber (Mrs. Okafor, 555-0148), $185.','Boiler pressure','E33CECBA-8903-53EE-A730-6779F94C124D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(10,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,742158000,NULL,NULL,749169060,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Boring interfaces, talk draft
#work/talks

For the meetup at the Cannery on Wednesday, October 2. Twenty minutes, so no more than 18 slides. Audience: designers and a few developers who were dragged along.

## Opening
Start with the light switch in my grandmother''s hallway. She used it for sixty years and never once thought about it. Then the touch panel in the hotel in Halifax, where I slept with the light on because I couldn''t find "off". Ask: which of the two would have won a prize?

## Claim
An interface is boring when the person''s attention stays on the thing they came for. Boring is not the same as plain, cheap or old. A ferry is boring when it arrives.

Three kinds of interesting that we should fear:
1. *Interesting because unclear.* The person has to solve it.
2. *Interesting because new every month.* Their hands have learned something and we take it away.
3. *Interesting because it wants something.* Badges, streaks, confetti.

## The story in the middle
Halyard, told backward. First the deckhand''s sentence about dead phones. Then the graph, 130 seconds to 48. Then the seven screens we deleted, one by one, each with the name of the person who loved it. I loved screen five. Say so.

Show the fare sentence, and let the room read it aloud. They''ll smile, as the people on the pier did.

## Objection
"If everyone makes boring things, how will anybody tell our product from the next?" Answer: by whether it works on the pier with one bar. Being trusted is a difference, and hard to copy.

Second objection, from the back row: "Boring is easy for you to say, you sell boat tickets." True. A game must not be boring. But the settings page of the game should be.

## A slide about money
Boring is cheap to run. Since the summer Dee''s team has had 140 letters a week fewer, which is two people who now do something better than explaining our buttons. The finance department understood the whole talk from this one bar chart. Put it after the objections, because that''s when the managers look at their watches.

## Practical part
How to make something more boring by Friday:
- watch where a finger hovers, and remove what it hovers over
- read the screen out loud; if you''d be embarrassed to say it to a stranger, change it
- count the words that are about *us*
- undo instead of "are you sure?"

## Close
Back to the hallway. The switch is still there. The house was sold, the new owners replaced everything else.

## Notes to self
If the projector fails (it did in 2022), tell the hallway story with the lights off and use the real switch beside the stage door. People might like it better.

Slower. Water. Don''t apologize for the photo of slide 9. The clicker of the Cannery eats AA batteries, bring two. Rehearsed with Tiago on Sept 22: 24 minutes, cut the elevator anecdote.','Boring interfaces, talk draft','FF65D61C-308A-5A0A-A4CB-E753A9BE7BE2',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(11,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,760550400,NULL,NULL,790794000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Braces timetable
#kids/zoë #kids/health

On since February 6, 2025; planned for 20 months, so until about October 2026, when all goes well. Tightened every six weeks. The first two days after are soup days; ibuprofen once, before bed.

Broken bracket: not an emergency, wax on it, call on Monday. A poking wire can be bent with the back of a spoon.

![](ortho-card.jpg)

Forbidden: popcorn, caramel, ice cubes. Corn on the cob only cut off. She has found out that the dentist doesn''t mention fortune cookies.

Cost $5,200, insurance pays 1,500, the rest in 18 payments of $205.55.','Braces timetable','64ED6A52-7204-5FAC-90AE-AA8368F8B456',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(12,5,1,0,0,1,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,673545600,NULL,NULL,679479300,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Building permit
#cabin #home/papers

[permit-2022-0417.pdf](permit-2022-0417.pdf)<!-- {"embed":"true"} -->

Handed in May 6, granted July 13. They sent it back once because I''d measured the distance to the pond from the stake and not from the high-water line. The line is where the bank changes color, 11 feet nearer.

We may cut three spruces, and have to plant six of anything native within a year. Done: winterberry, May 2023.','Building permit','08FCDC79-E911-5E94-8F67-E362C78716E8',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(13,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,672004800,NULL,NULL,809817300,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Cabin build log
#cabin

Twelve by twenty feet plus a porch, two acres at Tern Pond, 94 minutes from home. The plot was Tiago''s uncle''s. Hollis, retired boatbuilder from the village, is our conscience. This log is for the next people who think that one summer will do.

## 2022: the ground
**April.** Walked the plot in boots. Where we wanted to build stands water until May. Hollis pushed a rod in: ledge at two feet on the north side, mud on the south. We move the whole thing 40 feet uphill, lose the view of the pond and win a dry floor. The view comes back if three spruces go.

**May.** Permit in, see [[Building permit]]. Six weeks, they say.

**July.** Permit out, after ten. Decision about footings in [[Why screw piles]]. The machine came on the 19th, nine piles in one morning. One hit a boulder and had to go a foot to the east, so the porch is a foot wider than drawn. Nobody will know.

**September.** Beams and joists, 2x10 at 16 inches. The kids could walk on the skeleton and did, all weekend. I cut one joist too short and learned to say "sister" as a verb.

**October.** Subfloor, tarp, done for the year. The tarp blew off on November 2, Jonah drove up and tied it with boat knots.

What the first year taught us: half of building is carrying. There''s no road for the last 200 yards, so everything went uphill on shoulders or on Jonah''s deer cart. Zoë kept a tally on the shed door, 1,140 trips among all of us until the first snow. We should have put the gravel drive first. Everyone had told us to put the drive first.

## 2023: the shell
**May.** Under the tarp a family of flying squirrels. We waited until the 28th, when they''d moved out by themselves.

**June.** Walls lie on the floor, get nailed, get lifted. Eleven people for the lifting, paid in chili. The tallest wall went up on the 17th at 4:40 p.m. and stood a quarter inch out of plumb. Hollis: "It''s a cabin. A piano would mind."

**July.** Rafters. I was more scared than I admit here. Harness rented, $30 a weekend, best money of the summer.

**August.** Roof: standing seam, charcoal. Delivered two sheets too few; the supplier''s list said 22 inches of cover and the panels have 20. Waiting cost two weekends.

**September.** The house wrap went on in a wind in which one shouldn''t fly kites. Tiago stapled his sleeve to the wall and hung there until lunch. Door hung: oak, from the principal''s office, still with the mail slot. Emil has been writing letters to the cabin ever since, and drives up each time to see whether they''ve come.

**October.** Windows, all secondhand from the school that was torn down. Each one needed its own frame. Dry inside on the 21st; we ate soup in there, on paint cans.

## 2024: warmth
**April.** Insulation: wood fiber in the walls, 5.5 inches, sheep''s wool in the roof. Itches less than what I had feared, smells like a barn when wet. [[Mice in the wall]] is the sad chapter.

**June.** The stove, see [[Stove and chimney]]. First fire on the 22nd, in 80 degree heat, because we could not wait.

**August.** Siding of white cedar, left raw. Emil painted the inside of one board before it was closed: a shark. It''s the north wall, third from the door.

**September.** Power, see [[Solar sums for the cabin]]. Four lights, a pump, phones. No refrigerator; a hole in the ground with a lid does it until July.

**October.** Ceiling boards, tongue and groove, 5/8 inch, 31 of them overhead with three people and two pairs of hands. Broom handles as props. My neck has still not forgiven me. Between the last board and the wall there was a gap like a wedge, from zero to an inch and a quarter. A strip of trim covers it, and I look at it first each time I lie down.

**November.** First night with snow. 19 °F outside, 66 inside, woke at four because of the silence.

## 2025: the inside
**May.** Floor: heart pine from the same school, gym lines still on it. We laid the boards at random, so there''s a scattered basketball court now.

**June.** Bunk beds in the wall, three high. Zoë claims the top.

**July.** The kitchen is a workbench with a sink. Water from the rain tank (275 gallons) through two filters; for drinking we still bring it from home.

**September.** Toilet, see [[Composting toilet]]. An inspector came, measured stairs, and asked who''d built the bunks.

**Late September.** Storm from the southeast, 58 mph at the airport. The roof held. The big pine by the path didn''t; it fell between the cabin and the outhouse as though someone had measured. We counted 117 rings. Hollis came with the portable mill, and out of the trunk we got the table: one plank, nine feet long, 22 inches wide. Eleven people can sit around it who like each other.

**October.** Final inspection passed on the 10th, except for the handrail on the porch.

## 2026: what is left
**May.** Handrail. Passed.

**July.** Trim, hooks, a shelf for 40 books. Forty, not more.

**August.** It isn''t finished and we''ve begun living in it. The remaining list is in [[Cabin punch list]].

## What I''d tell somebody who begins
- Drive first. Then a dry place for tools. Then the floor.
- Buy the windows before drawing the walls, if they come from a demolition.
- Two people who can''t be offended are worth more than four who know everything.
- Eat warm at noon. Every accident (there were three, the worst a nail through a boot, tetanus shot in Larkham) was after one o''clock without lunch.
- Take a picture of each wall before it''s closed. I''ve already needed those of the pipes twice.

## Sums
Planned $38,000 and one summer. So far $51,340 and five. Biggest surprise was windows (cheap), second biggest the gravel for the drive ($4,100, nobody had thought of it). About 1,900 hours, of which I regret maybe 40.','Cabin build log','22B70D2A-9F61-582B-AD91-C0690A134143',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(14,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,2,8,0,NULL,NULL,NULL,NULL,NULL,781984800,NULL,NULL,811625400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Cabin punch list
#cabin

Before the snow:
- [x] handrail on the porch
- [x] second coat of soap on the floor
- [ ] gutter on the west side, it splashes the siding
- [ ] door sticks when humid: plane 1/16 off the top hinge side
- [ ] trap for the sink, so that the smell stays below
- [ ] sweep the pipe
- [ ] drain the filters by Columbus Day

For rainy days:
- [ ] hooks at child height
- [ ] label the breakers
- [ ] find out who chews the porch steps (salt? sweat?)','Cabin punch list','68FD221F-D712-5181-857A-E8676C099D4E',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(15,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,657916200,NULL,NULL,751145400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Caldo verde
#recipes

The way Avó Lurdes makes it, as far as I could see over her shoulder. For 6.

- 2 lb floury potatoes
- 1 big onion, 3 cloves garlic
- 7 oz chouriço
- 10 oz couve galega or collards, stems out, cut as thin as hair
- 2 quarts water, olive oil, salt

Fry the sausage in slices, take it out. Onion and garlic soft in that fat. Potatoes and water in, 25 minutes, mash them in the pot with a fork until it looks like cream with some stones. Greens in for only 3 minutes, so they stay bright. Sausage on top, a thread of oil.

She rolls the leaves like a cigar and cuts toward her thumb. I use a board. Cornbread with it, and never cheese.','Caldo verde','322BEFBE-7284-5A03-9147-7D6B8C2000B3',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(16,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,653166000,NULL,NULL,790459200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Cello practice plan
#music/cello

Started at 37. Ruth, my teacher: "Twenty minutes each day beats two hours on Sunday, and you know it."

- 4 min open strings, whole bow, eight counts, in front of the mirror
- 5 min scale of the week, two octaves, with a drone
- 8 min the bar which hurts; only that one, at half speed, three times without fault, then stop
- 3 min something for love

Not after nine in the evening (Emil''s wall). Rosin every fourth time, not every time. Metronome app on the stand''s left side.

Goal for 2026: third movement of the sonatina for Ruth''s June recital, from memory.','Cello practice plan','0FBF42BB-5769-56A6-89DB-F7EC2E294AAA',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(17,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,4,1,0,NULL,NULL,NULL,NULL,NULL,758149200,NULL,NULL,769298400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Community orchestra, spring 2025
#music

Tuesdays 7:15, Unitarian hall, back door. Last desk of four, next to Walt, who counts rests out loud, bless him.

- [x] pay the $60 to Connie
- [x] black folder, black socks
- [x] pencil! second-movement bowing changed on Feb 11
- [x] concert Saturday, May 17, call at 6 p.m.
- [ ] return the music, no. 14, erased

Program: an overture full of storms, a new piece by our second oboist, a symphony we play at four fifths of the speed. In bar 212 everybody waits for the clarinet. Do not be the hero.','Community orchestra, spring 2025','2E7E284D-A02B-5B37-8C1C-7E9B6EF81BCA',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(18,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,687013200,NULL,NULL,690639000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Compost too wet
#home/garden

It smelled like a pond. Cause: the entire summer only kitchen scraps and lawn, no browns.

Repair: turned it all out, layered with two bags of torn egg cartons and the shavings from the cabin planks. After 9 days it was at 131 °F and smelled of forest. Rule of thumb by volume: two buckets of dry for each bucket of wet.

Citrus peel is fine, whatever they say. Corks are not: still whole after three years.','Compost too wet','C9E5A80C-BFDF-500B-AC51-3B5256AE1965',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(19,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,775940400,NULL,NULL,780084000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Composting toilet
#cabin

Looked at the $1,900 ones with fans and heat. Built instead: a box with a separator insert ($95), two barrels, a vent pipe of 4 inches painted black, so the sun does what a fan would.

Liquid goes aside, that''s the whole secret of no smell. Solids get a scoop of peat and pine shavings. When a barrel is full it waits for 24 months with its date on the lid. Current one: since Sept 14, 2025.

The town counts it as a "privy" and wants 12 inches to groundwater. We have 30.

House rule for guests: everybody sits.','Composting toilet','63CF740B-B8C2-5465-B633-286E9952572B',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(20,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,740754000,NULL,NULL,755823900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Course plan, fall 2024
#teaching/interaction design#

Community college, Thursdays 6 to 9 p.m., room B-214 (projector remote is at the porter''s desk). Fourteen evenings, 16 students at most, 13 signed up. Half of them come straight from work and hungry, so there''s bread.

## Aim
At the end each of them has taken one small thing in their own life that annoys people and made it better, tested with five strangers, and can tell the story in ten minutes.

## Weeks
| Week | Topic | They bring |
|---|---|---|
| 1 | Looking: two hours at the bus station | a notebook |
| 2 | Writing down what people do, not what they say | field notes |
| 3 | Choosing a problem small enough | three candidates |
| 4 | Interviews, silence as a tool | one recording |
| 5 | Sketching with a fat marker | 20 sketches |
| 6 | [[Paper prototyping evening]] | scissors |
| 7 | Testing on one another, then on the cleaning crew | nerves |
| 8 | Words on buttons | a screenshot that made them angry |
| 9 | Forms | the worst form of their life |
| 10 | Color and contrast, for people who see otherwise | nothing |
| 11 | A guest: Gil, who is blind, shows how he shops | questions |
| 12 | Putting it together | a clickable thing |
| 13 | Critique | courage |
| 14 | [[Exhibition night checklist|Exhibition]] | friends |

## How I grade
Pass or not yet. See [[Rubric for final projects]]. Whoever misses more than three evenings repeats the term, no exceptions since the trouble in 2022.

## What happened
Week 1: rain, the bus station was full, ideal. Two students were asked to leave by a guard, which gave us a good half hour about permission.

Week 4: the silence exercise is always the strongest. Count to seven after each answer. One student learned that her father had once wanted to be a baker.

Week 5: fat markers stopped the decorating. Buy more, the blue ones dry out first.

Week 7: the cleaning crew was paid this time ($25 each, college paid after I''d filled in two forms). They found more in an hour than we had in two.

Week 9: somebody brought the form for a fishing license. Eleven pages. We got it to two, and he actually sent it to the state office. They answered!

Week 11: Gil was late because the college''s door code isn''t readable by touch. He used that as his opening.

Week 13: too long. Ten minutes per person with 13 people doesn''t fit between six and nine. Next year two groups in parallel.

## Next year
Drop week 10 as an evening of its own and spread it over all of them. Start testing in week 3. Ask the dean for a room with windows.','Course plan, fall 2024','B0E0626A-527C-5016-8329-6468971785C5',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(21,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,729270000,NULL,NULL,731617200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Crystal garden
#kids/zoë #kids/school

Zoë''s project for the science fair, March 7. Question: does sugar, salt or alum grow the biggest crystal in two weeks?

Set-up: three jars each, saturated in hot water, a thread on a pencil. One set on the windowsill, one in the cellar, one in the refrigerator.

| | Sill | Cellar | Refrigerator |
|---|---|---|---|
| table salt | crust | 3 mm | 2 mm |
| rock candy | 9 mm | 14 mm | nothing |
| alum | 11 mm | 26 mm | 17 mm |

Slow and undisturbed beats everything; the one on the sill was shaken by the washing machine. She put that in as "error source: family".

Second prize. First was a volcano. She''s still angry about that.','Crystal garden','C9EB3796-8886-5984-94B0-E8C01D145CE3',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(22,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,666644400,NULL,NULL,666645600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Dal for tired days
#recipes

25 minutes, one pot, 4 people, about $3.

1 1/2 cups red lentils, 5 cups water, 1 tsp turmeric, a thumb of ginger. Simmer 18 minutes, beat with a whisk. Salt now, not earlier.

In a small pan: 3 tbsp ghee or coconut oil, 1 tsp cumin seeds, 1 tsp mustard seeds till they jump, 4 sliced garlic cloves, a dried chili. Pour it hot over the pot; it must scream. Lime.

Emil''s portion comes out before the chili.','Dal for tired days','F4E953CA-FA09-5C8B-B923-69B09E6F75BB',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(23,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,712933200,NULL,NULL,725896800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Dedupe the photos
#learning/python #home/tech

41,000 pictures, many of them twice since the phone change. Same bytes = same hash, name doesn''t matter.

```python
from collections import defaultdict
from hashlib import file_digest
from pathlib import Path

seen = defaultdict(list)
for path in Path("~/Pictures").expanduser().rglob("*.[jJ][pP]*[gG]"):
    with path.open("rb") as f:
        seen[file_digest(f, "sha256").hexdigest()].append(path)

for copies in seen.values():
    for extra in sorted(copies, key=lambda p: p.stat().st_mtime)[1:]:
        extra.rename(Path("~/Doubles").expanduser() / extra.name)
```

Moved 6,318 files, 29 GB. Then `PermissionError: [Errno 13]` for the old scans: they were owned by root since the restore. `file_digest` needs Python 3.11.

Doesn''t find the same picture in two sizes. That would need a perceptual hash, another rainy day.','Dedupe the photos','D9BBF8A1-C8A0-5F48-B05A-1CEA51127012',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(24,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,673953600,NULL,NULL,752677200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Design critique, house rules
#work/handbook

Wednesdays, 45 minutes, at most two pieces of work.

1. The presenter says what stage it is in: napkin, sketch, or paint. We don''t discuss pixels on napkins.
2. The presenter says what they want to hear about. Everything else waits.
3. Start with questions for five minutes. No opinions dressed as questions.
4. Say what you see, then what it does to you, then (if asked) what you''d try.
5. Someone who isn''t the presenter writes. The presenter may not defend, only clarify.
6. Quiet people first, the boss last.
7. We end with the presenter naming one thing to change and one thing they''ll leave as it is. ==Leaving things is allowed.==

No laptops open except the scribe''s. Snacks rotate by alphabet.','Design critique, house rules','C3786682-C524-58B2-9B96-EB8AF0618FF7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(25,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,703366200,NULL,NULL,703367400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Dishwasher says E24
#home/appliances

E24 = water doesn''t drain. Not the pump (I had already looked up prices of pumps). A cherry stone sat in the little flap behind the filter. Pull out the filter, three screws T20, lift the cover with a spoon.

Took 15 minutes. The repair service wanted $140 for coming.

While at it: rinse aid on 2 and not on 5, then no more rainbow glasses.','Dishwasher says E24','F582131E-26DD-5A0C-B7A0-DD2F5B4BBFB2',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(26,5,1,0,0,0,0,0,0,NULL,0,1,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,652561200,NULL,NULL,794169600,NULL,794169600,NULL,NULL,NULL,NULL,NULL,'# Emergency sheet
#home #kids

For babysitters and for us at 3 a.m. Also printed, inside the pantry door.

- Poison line 555-0122. Emil is 7 and weighs 52 lb (March 2026).
- Water main: cellar, behind the bicycles, red wheel, turn right
- Gas: outside, left of the porch, quarter turn with the wrench that hangs there
- Breakers: hall closet. The third row trips when kettle and toaster run together.
- Pediatrician: Dr. Amari, 555-0139. Blue inhaler: see [[Emil''s breathing plan]]
- Samira next door, always. Then Jonah, 12 minutes by car.
- Flashlights: each bed, left drawer

Smoke alarm with one chirp a minute is only the battery.','Emergency sheet','3A435A9D-752C-5CD1-9131-6FEBDC43C383',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(27,5,1,0,0,0,0,0,1,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,689799600,NULL,792612000,792612000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Emil''s breathing plan
#kids/emil #kids/health

As Dr. Amari explained, last checked Feb 12, 2026.

**Green** (plays, sleeps, no cough): orange inhaler, one puff mornings and evenings, with the spacer, then rinse the mouth.

**Yellow** (coughs at night, whistles, slower on stairs): additionally blue, two puffs, wait 4 minutes, may repeat after 4 hours. Stay home from sports.

**Red** (ribs pull in, can''t finish a sentence, blue doesn''t help after 15 minutes): six puffs and call 911.

Triggers: cold air with running, cats, colds. Dust not so much. Peak flow when well: 210.

Spacer in his backpack, in the car and at [[Emergency sheet|the pantry door]]. Check the counter of puffs on the first of each month.','Emil''s breathing plan','9E789105-8A70-5DDE-8654-0D9FF67A3CE7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(28,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,3,5,0,NULL,NULL,NULL,NULL,NULL,723038400,NULL,NULL,786558600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Exhibition night checklist
#teaching/interaction design#

- [x] Book the foyer (Lorraine, facilities, before September!)
- [x] 13 easels from the painting department
- [x] Extension cords, tape over them
- [ ] Name cards in 36 point
- [ ] Cider, warm, 8 liters, and the non-sticky cups
- [ ] Invite last year''s class
- [ ] Ask the fishing license man to come back
- [ ] Somebody who takes photos and isn''t me

Doors 6:30, talks at 7, out by 9:15 or the alarm goes off. Alarm company last year: $120. Never again.','Exhibition night checklist','704767F4-BD76-50B3-8B62-E307DA0B381C',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(29,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,677534400,NULL,NULL,797288400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# False friends in Portuguese
#learning/portuguese

| It looks like | but means | what I wanted |
|---|---|---|
| pretender | to intend | fingir |
| puxar | to pull | empurrar (doors!) |
| constipado | having a cold | com prisão de ventre |
| esquisito | weird | delicioso |
| assistir | to watch | ajudar |
| propina (PT) | tuition fee | gorjeta |
| rapariga | girl in Lisbon, an insult in Brazil | menina |

I told Tiago''s aunt that her dinner was *esquisito*. She laughed so hard that she had to sit down.','False friends in Portuguese','16E0226F-A7BB-5221-B9D1-DF03C8DCF975',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(30,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,723114000,NULL,NULL,723115500,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Feedback that students use
#teaching

Compared what I wrote on 41 projects with what changed afterward.

Used: one question at the most important spot ("who is this for at six in the morning?"). Pointing at a place. A recording of my voice, two minutes.

Not used: lists of more than four points, links to reading, anything that begins with "consider". Praise without a place is liked and forgotten.

So: one voice memo each, one question, one spot that''s good and why. It takes me six minutes instead of twenty.','Feedback that students use','DA7360B7-729A-5582-9CA0-DF16A8617687',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(31,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,5,0,NULL,NULL,NULL,NULL,NULL,683463600,NULL,NULL,758456700,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# First week for new designers
#work/handbook #work/hiring

Copy this for each newcomer.

- [ ] Monday: laptop, badge, lunch with the buddy. No meetings after two.
- [ ] Tuesday: ride the 7:45 boat with a deckhand (ask Dee for a vest)
- [ ] Wednesday: sit in on critique, see [[Design critique, house rules]]
- [ ] Thursday: answer five support tickets yourself, with Dee watching
- [ ] Friday: change one word or color in the live app and ship it before lunch

The last one matters most. Whoever has shipped something in week one isn''t afraid of week two.

Accounts come from the IT desk, ext. 4410. Figma seats take a day, so order them the Friday before.','First week for new designers','34F8E4D0-E428-5169-B0CA-D23077005DC7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(32,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,696621600,NULL,NULL,758315400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Fish pie without milk
#recipes

Since Emil can''t have lactose and Zoë can''t have "bits".

White sauce from olive oil, flour and fish broth, with a spoon of mustard; nobody has ever noticed. 1 lb haddock, 1/2 lb smoked, poached 6 minutes in that broth with a bay leaf. Peas. Mash with oil and nutmeg instead of butter; rake it with a fork so that it browns. 400 °F, 30 minutes.

Leftovers become cakes on Monday: egg, crumbs, pan.','Fish pie without milk','D0B30C80-05BB-542B-B336-743E34639155',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(33,5,1,1,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,644061600,NULL,637408800,NULL,NULL,644061600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# From the couch, with Tiago
#running/plans

Nine weeks, three times a week, one minute of running and two of walking to begin with. He hates it until week 4, then wants a watch.

May 30: three miles without stopping, in 36 minutes, along the rail trail. He lay down in the grass and said that he''d now like to be a person who *has run*. He has gone back to rowing.','From the couch, with Tiago','CBABB0E1-043C-5E04-AF43-F04911646B20',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(34,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,757879200,NULL,NULL,785007900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Garden diary 2025
#home/garden #journal

## January
Eleven below on the 9th. The rain barrel had not been emptied and split along the seam. Again one of those things that I know each year on January 10. Ordered seeds, see [[Seed order]]. Two cardinals on the feeder, one limping.

## February
Snow load pulled the netting over the currants down. From inside I could hear it go, like a sigh. Cut hazel for pea sticks, 60 of them, with Emil as the counter.

## March
Pruned [[The old apple tree]] on the 9th. Sowed tomatoes on the 29th under the shop lamp. Moved the lamp down to two inches after reading that they stretch for light; it helps.

Found the trowel I''d accused Jonah of keeping. It was in the compost.

## April
Soil at 50 °F on the 12th, peas in. Ten days later a chipmunk had dug up a whole row, very precisely, one hole for each pea. Second sowing under wire. The hedgerow along the drive: 14 bare-root hawthorns and 6 serviceberries, planted in three hours with Tiago''s cousins, who sang.

## May
Last frost on the 19th, caught the beans in their pots outside. Covered what could be covered with bedsheets. The neighbors think we dry laundry at night.

Asparagus: third year, so this was the first spring in which we were allowed to cut. Two weeks, then stop. I counted 44 spears.

## June
Fog, then heat. Strawberries came all at once, 19 quarts. Emil sold six at the curb for a dollar each and gave a customer a lecture about slugs.

Bees: a swarm in the plum on the 21st, as big as a football. Called the county list; a woman in a sundress came, shook it into a cardboard box and drove off with the windows open.

## July
No rain from the 3rd to the 30th. Gray water from the bathtub in watering cans, a chain of four people down the back stairs. Mulched everything with straw; the beds with straw needed half as much.

Potatoes early, because the vines lay down. Small but many. No beetles.

## August
Picked beans every second day; anyone who visits must take a bag. The freezer is full, see [[What is in the freezer]]. Powdery mildew on all squash: milk and water, 1:9, slowed it, didn''t stop it.

A porcupine ate the bark of the young plum up to the height of a porcupine. Wire sleeve.

## September
Garlic out of the shed and braided, 62 heads. Seeds kept: runner beans, dill, the nameless tomato. Planted 40 crocus bulbs in the lawn, in a spiral, as a surprise for Zoë in spring.

## October
First frost on the 14th. The dahlias went black overnight, as though somebody had switched them off. Dug them up, they''re in the cellar in sand, labeled this time.

## November
Leaves: eleven bags from our street, begged. Oiled the handles of all tools with linseed. Emptied the rain barrel. ==Emptied the rain barrel on November 16.== So that it''s written down.

What I''d do differently: fewer zucchini (two plants are enough for a village), more flowers for cutting, sit down more.','Garden diary 2025','1AB5ECF7-6208-5453-B8EB-6CE386A3D505',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(35,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,658612800,NULL,NULL,813441600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Gift ideas
#Familie

🎁 
- Tiago: oar, a single beautiful one, for the wall; the pepper mill that he looks at each time
- Zoë: waterproof notebook, real darts, an hour with the beekeeper
- Emil: headlamp, a lock to take apart, walrus size XL
- Mama: photo calendar (order before Nov 20!), no more scarves
- Jonah: dibber from the blacksmith
- Samira: pistachio cream, once more
- Ruth: never rosin, she has eleven
- Hollis: he wants nothing; a cord of ash, split and stacked','Gift ideas','B31679BF-05A3-5BA9-B21F-AB8A4845A721',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(36,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,731692800,NULL,NULL,737229600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Greenhouse controller
#learning/c++ #home/garden

A small board opens the lean-to''s window at 77 °F. My first C++, so expect nothing.

```cpp
const float OPEN_AT = 25.0, CLOSE_AT = 21.5;   // Celsius; the gap stops the flapping
void loop() {
  float t = sensor.readTemperature();
  if (isnan(t)) { motor.stop(); return; }
  if (t > OPEN_AT) motor.open();
  if (t < CLOSE_AT) motor.close();
  delay(60000);
}
```

`avrdude: stk500_recv(): programmer is not responding`: the cable was one of those which only charge. Half a Sunday.

The gap between opening and closing is called hysteresis. Before that the motor ran 90 times in one cloudy afternoon. Power 5 V from the shed, fuse 1 A. Sensor in the shade, otherwise it measures sun and not air.','Greenhouse controller','DFB4584A-E7AF-5C15-8ED1-BDBED23FA9D2',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(37,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,644274000,NULL,NULL,811029600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Half-baked ideas

- umbrellas on the ferries, take one here, leave it there
- a museum for things that were almost right
- a bench that warms up from the compost below it
- alarm clock for plants: rings when they''re thirsty, ever louder
- dinner at which each dish is from the year in which somebody at the table was born
- cookbook sorted by how tired one is 💤
- an app which shows nothing but the next boat (oh wait)','Half-baked ideas','DE2B4285-AE53-525E-98B5-7CF01B29459D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(38,5,1,0,0,0,0,0,0,NULL,0,1,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,801946800,NULL,NULL,812837700,NULL,812837700,NULL,NULL,NULL,NULL,NULL,'# Half marathon plan 2026
#running #running/plans

Goal: Sunday, October 4, the Tidal River Half. Under 1:55, and a knee that doesn''t talk. Sixteen weeks from June 15. Based on what went wrong in [[Race report, Marsh Road Half]] and on [[The left knee]].

## Principles
- Four runs a week, never five. The fifth is where the injuries live.
- Easy means I can tell Tiago the whole plot of something.
- Two weeks up, then one week down.
- Strength on Tuesdays while the dinner is in the oven: 3x12 step-downs, 3x10 single-leg bridges, calf raises until bored.
- Whatever falls out because of kids, cabin or work stays out. No catching up.

## Weeks
| Week | Long run | Quality | Total mi |
|---|---|---|---|
| 1 | 6 | strides | 16 |
| 2 | 7 | 6 x 1 min | 18 |
| 3 | 5 | none | 14 |
| 4 | 8 | 5 x 2 min | 20 |
| 5 | 9 | hills, 6 short | 22 |
| 6 | 6 | none | 16 |
| 7 | 9 | 3 x 1 mile at 8:40 | 23 |
| 8 | 10 | tempo 20 min | 25 |
| 9 | 7 | none | 18 |
| 10 | 11 | 4 x 1 mile | 27 |
| 11 | 12 | tempo 30 min | 29 |
| 12 | 8 | none | 19 |
| 13 | 12, last 3 at pace | 5 x 1 km | 29 |
| 14 | 10 | tempo 25 min | 25 |
| 15 | 7 | 3 x 1 km | 18 |
| 16 | race | 15 min with strides | 20 |

## Eating
Oatmeal with banana three hours before. From 60 minutes on: one gel every half hour, the ones with apple, because the coffee ones came back up in 2024. Drink at each second table, walking, really walking.

The week before: no mussels, no heroics, pasta on Friday and not on Saturday. Coffee as always, since leaving it out is an experiment too.

## Pace card
Start 8:55 for three miles even if it feels silly. 8:45 up to mile ten. Whatever is left from there.

## How it went
**Weeks 1 to 6.** As planned, apart from week 3, which was all chickenpox at the school and no sleep.

**Weeks 7 to 9.** Heat. The mile repeats moved to 5:30 in the morning, with a headlamp and a skunk. Knee silent.

**Weeks 10 to 13.** Twelve miles along the rail trail in fog, alone, the happiest run of the year. Missed one tempo because of the cabin inspection.

**Week 14.** Cold, three days off. Didn''t catch up. (See principles.)

**Race.** 1:53:41! Even splits, the last mile was the fastest at 8:12. The knee said nothing at all. Zoë held up a sign with "you paid for this".','Half marathon plan 2026','A00344EC-1F5E-5629-B5AC-E5F637DA354D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(39,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,721514700,NULL,NULL,722161800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Halifax expenses
#work/travel

Port operators'' conference, Nov 8 to 10. To claim by the end of the month, form T-7.

- Ferry and bus: $0, we were guests
- Hotel, see picture; the snack is mine and not for the company

![](receipt-hotel.jpg)

- Dinner with the two people from the harbor authority: $96.20, receipt lost, ask them for a copy
- Taxi to the airport at 4 a.m.: $71

Worth going? One talk about floating piers; and the hotel''s touch panel for the lights, which I''ll be telling people about for years.','Halifax expenses','B0C2755B-2614-5215-82C7-B437FA5026F3',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(40,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,3,2,0,NULL,NULL,NULL,NULL,NULL,727020300,NULL,NULL,739138320,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Halyard launch plan
#work/launch

Halyard is the new booking flow for the Tidemark app. It replaces seven screens with three. Meeting minutes live in [[Halyard weekly]], the reasons for the odd parts in [[Why we dropped the month grid]].

| Stage | Who sees it | Date | Gate |
|---|---|---|---|
| Dogfood | staff only | Mar 11 | nobody stuck at payment |
| Islanders | 400 season-pass holders | Apr 8 | under 2% refunds |
| Half | 50% of Android | May 6 | crash rate below 0.3% |
| Everyone | all platforms | May 28 | Olu and Dee both say yes |

- [x] Freeze copy for the fare picker
- [x] Screenshots for both stores, eight languages
- [x] Refund script for the help desk
- [ ] Retire the old flow''s feature flag (`legacy_booking_2019`)
- [ ] Send cake to the crew of the Miss Adeline, who tested it at sea

==We go live on a Tuesday.== Fridays belong to day-trippers, and Dee''s team is thin on weekends.

If it goes wrong: Mattias flips the flag back, nobody needs to ask first.','Halyard launch plan','2B1CE540-8194-510E-8A43-980A28F87884',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(41,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,728838000,NULL,NULL,739727280,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Halyard weekly
#work/launch #work/meetings

Mondays, 10:00, the small room with the broken blind. Mattias (product), Olu (engineering), Wren (research), Dee (support), me (design). Newest at the bottom.

## February 5
Kick-off. Mattias wants a date; Olu wants a scope. Compromise: we promise three screens and no date until Wren''s first test is in. I show the paper version. Dee asks the best question of the day: what happens when somebody buys a ticket on the pier with one bar of signal? Nobody knows. Olu will find out what the app does when the network dies between "pay" and "paid".

Decision: the passenger count comes *after* the departure, not before. People know where they''re going before they know who is coming along.

## February 19
Olu''s answer: it charges the card and forgets the ticket. That has happened 31 times since last summer; Dee has been refunding by hand and thought it was user error. New rule for everything we build: the server issues the ticket first and the phone only fetches it. Costs us two weeks, all agree that it''s worth it.

I bring four versions of the fare picker. We keep the one with whole sentences ("Two adults and a bike, coming back Sunday"). Mattias worries about translation: sentences break in Finnish and Japanese. I promise a fallback with plain rows.

## March 4
Wren tested with six commuters ([[Usability test, round 3]] came later and was kinder). Four of six thought the greyed-out boats were *sold out*; in truth they had already left. We will hide departures that are gone, with one small line "earlier today: 4 sailings".

Support load: Dee counts 212 tickets a week, a third of them about changing the date. So changing the date is in scope now, and seat maps are out. Nobody weeps for seat maps.

## March 11
Wren is out with the flu, Dee takes the minutes, therefore they''re legible. The prototype goes to all 60 colleagues today. Everybody has to buy a real ticket with real money and gets it back on payday; pretend money makes pretend patience.

A long detour about names. Marketing would like "Tidemark Go". Olu asks where else one would. It stays Tidemark, and Halyard stays our secret name for it: the rope by which a sail goes up, and nobody has to see it.

## March 18
Dogfood since last Monday. Eleven colleagues traveled with it. One bug that matters: the QR code dims with the screen, and the scanner on the Long Island pier can''t read it. Olu forces full brightness while a ticket is open.

The Finnish fallback works. Japanese needs shorter counters; our translator suggests icons for adult, child and dog.

## April 15
Islanders week one. Refunds at 1.4%, inside the gate. Loudest complaint: the season pass hides behind the fourth tap. They''re right, they use nothing else. I move the pass to the first screen for everybody who owns one.

Mattias has heard from the board: they''d like a "members club" banner. Dee and I say no together; a banner on the pay screen cost us 6% of purchases in 2022. Parked until autumn, to be discussed with [[Pricing workshop]].

## April 22
Demo for the captains, in the wheelhouse, because they don''t come to offices. Captain Thibodeau''s only wish: a count of bicycles thirty minutes before departure, since the rack holds twelve and the thirteenth makes an argument. We have that number already and have never shown it to anyone. Olu builds a page for the crew in an afternoon: sailing, people, bikes, wheelchairs, dogs. It''s the most liked thing of the project, and it was in nobody''s plan.

Translation is back. The Finnish translator found "passenger" in five different wordings. Glossary with 38 terms now lives next to the copy.

## April 29
Short one. Android crash rate 0.7%, more than twice what we allowed. Olu suspects an old map library on phones from before 2019. We postpone the half roll-out by one week instead of shipping with fingers crossed. Nobody argues, which is new.

## May 13
Crash fixed: it was the map library, loaded although the map isn''t shown. Removing it also made the download 9 MB smaller. Half of Android is on since Thursday. Median time from opening the app to a paid ticket: 48 seconds, down from 2 min 10.

Wren reads out a note from a deckhand: "fewer people wave dead phones at me." That goes on the wall.

## May 28
Tuesday for once, because of the holiday. Live for everybody at 9:15. Quiet. Dee''s queue has 40 tickets by noon, about normal. One angry harbor master: the app shows his pier as "closed" because the timetable feed used the wrong time zone on Memorial Day. Fixed before lunch.

Lobster rolls on the dock.

## June 10
Last weekly. What we would do again: test with paper, gates with numbers, one person who may press the red button. What we would not: promise eight languages before the words are final. The tidy-up list went to [[Halyard launch plan]]. Mattias will write the public post; I''ll do a talk ([[Boring interfaces, talk draft|the boring one]]) in the fall.','Halyard weekly','0DFCD745-19EA-5B24-AB3A-F035A0A65B33',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(42,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,661795200,NULL,NULL,661795200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Hot chocolate
#recipes
Per mug: 1 cup oat milk, 40 g of 70% bar, a pinch of salt, half a teaspoon of cornstarch. Whisk till it coats the spoon.','Hot chocolate','03D6690A-11F4-5C76-85CB-6411E489813D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(43,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,801777600,NULL,NULL,804934800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# House rules for cabin guests
#cabin

Welcome! The key is under the third stone, counted from the birch.

1. Open the damper *before* lighting. Ashes go in the metal bucket, outside, lid on. They stay hot for three days.
2. Water from the tap is for washing. Jugs are for drinking.
3. The canoe leaks at the stern when two adults sit in it.
4. Loons nest on the island until mid-July: stay 200 feet away.
5. No reception, except on the big rock, standing, facing Hollis''s mailbox.
6. Leave kindling for whoever comes next.

Write something in the book. Drawings count.','House rules for cabin guests','CABF7095-3436-5CD4-A788-A330510F2A30',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(44,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,718032780,NULL,NULL,761587320,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Icon export
#work/design system#

The icons live in `glyphs-master.fig`, page "outlined". After a change:

```sh
cd design-system/icons
# flatten strokes, drop ids, keep the viewBox
npx svgo --config svgo.config.mjs -f raw -o dist
for f in dist/*.svg; do
  grep -q ''fill="currentColor"'' "$f" || echo "no currentColor: $f"
done
npm version patch && npm publish --access restricted
```

If the build says `ERR_ICON_DUPLICATE: anchor-24`, two frames in Figma have the same name; the second one usually hides behind a component. The plugin rounds to whole pixels, so draw at 24 and never at 23.5.

Package version in the app as of today: 4.11.2. The Android team pins it by hand, tell Olu.','Icon export','0CFE2FCA-98DB-54C5-A68B-013141730819',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(45,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,695491200,NULL,NULL,695493000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Knife sharpening
#home/kitchen

Stone 1000 then 4000, ten minutes in water first. Angle: two stacked quarters under the spine. Pull, heel to tip, until a burr can be felt on the far side along the entire length; only then turn over.

Mistake until now: changing sides after every stroke, so there never was a burr.

Test on a tomato, not on the thumb. The bread knife goes to the man at the Saturday market, $6.','Knife sharpening','B4BEF5F2-B3FD-566B-A4F7-01E8D3057C5D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(46,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,690210000,NULL,NULL,690631200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# 京都のメモ
#travel/日本

デザイン会議のあと、三日間京都に残った。

- 朝六時の伏見稲荷は静かで、猫しかいなかった。
- 錦市場で包丁を買った。名前を彫ってもらって、一万二千円。
- 宿の主人が自転車を貸してくれた。鴨川沿いを一時間走った。
- 忘れ物センター：青い手帳を電車に置き忘れたが、翌日戻ってきた。

![](eki-sign.jpg)

次は娘と一緒に、桜の季節に来たい。🌸','京都のメモ','51228208-75F3-5F5B-90FA-817628D81466',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(47,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,791031600,NULL,NULL,791640000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Leaflet for the city compost
#volunteering/city compost#

One page, fifth-grade reading level, six languages later. Draft is at https://example.org/compost/leaflet-v3 (ask Connie for access).

> Put it in: peels, coffee, eggshells, paper towels.
> Keep it out: plastic, even if it says "compostable". Pet waste. Stickers on fruit.
> Bring it: Tuesdays and Saturdays, blue gate, Canal Street.

The word "organic" is out: half the people whom I asked thought of expensive vegetables. The drawing of a banana was understood by all eleven, the arrow circle by three.

Print run 2,000, deadline Feb 20, see also https://example.com/print-shop?paper=recycled','Leaflet for the city compost','9C19C1B2-116D-5B38-9C57-C2AE7242C99D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(48,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,705142800,NULL,NULL,782557200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Loop for an hour
#running

6.1 miles, 310 feet up, no traffic lights. Down Alder to the rail trail, left under the bridge (goose with opinions, April to June), up Quarry Street, along the cemetery wall, then the stairs: 112 steps, everyone''s allowed to walk. Water tap at the ball field, off between Columbus Day and May.

In the dark take the cemetery side, that''s where the lamps are. Ice stays longest behind the rink.','Loop for an hour','437D664B-2C3B-5711-97AE-CCB11E756DA4',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(49,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,748458000,NULL,NULL,749581200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Luthier
#music/cello #home/papers

Buzzing on the low F since the heating came on. Nothing to do with my bow: a seam had opened, as every winter when the air goes below 35%.

![](repair-bill.png)

He says: a humidifier inside the case from November to April, and never against the radiator wall. Strings were five years old as well (!). New ones: the two lower from tungsten, $158.

Bow rehair each spring, $75, takes two days.','Luthier','98CB7DF4-8763-59EF-813F-5D99653FFDCB',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(50,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,631191600,NULL,NULL,788959200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Meter readings
#home

January 1, before breakfast.

| Year | Electricity kWh | Gas therms | Water ccf |
|---|---|---|---|
| 2021 | 41,870 | 9,316 | 1,204 |
| 2022 | 46,015 | 10,102 | 1,291 |
| 2023 | 50,333 | 10,861 | 1,380 |
| 2024 | 54,020 | 11,544 | 1,466 |
| 2025 | 57,209 | 12,190 | 1,549 |
| 2026 | 60,118 | 12,775 | 1,630 |

The drop since 2024 is the new refrigerator. The old one in the cellar used 900 a year just to cool three bottles.','Meter readings','B2228233-DE04-5D1F-AF26-BD9C62FF722F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(51,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,736549200,NULL,NULL,767386800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Mice in the wall
#cabin

They came in through the gap where the cable goes, no wider than a pencil, and turned four feet of wool into apartments.

Traps: 11 in two weeks, I''d rather not. Then: steel mesh behind all vents, copper wool into holes, expanding foam only on top of that (alone it''s just a snack). Peppermint oil does nothing except that the mice smell nice.

No food over winter, not even candles. Zero droppings on April 26, 2025.','Mice in the wall','15AFFC31-BBBE-5706-9B12-8EFF6899062F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(52,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,687735000,NULL,NULL,689029200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Monster spray
#kids/emil

Emil has been waking at half past one, the thing under the bed. Reasoning made it worse ("so you *do* know about it").

What helped: a plant mister with water and three drops of lavender, label drawn by Zoë. He sprays himself, four times, each corner. And the hall light stays on until we go to bed.

Week 1: five wakings. Week 2: two. Week 3: he gave the bottle to the stuffed walrus, who needs it more.','Monster spray','078C8D34-A0FD-5146-B7B5-A23A6BA2FCE9',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(53,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,786394800,NULL,NULL,788774400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Night train to Vienna
#travel

After Christmas with Mama in Freiburg. NJ 471 from Basel, Dec 27, departs 21:18, in at 7:52. Booking 7P4-KK-90231, car 301, beds 41 to 46: a whole compartment of six, $388 with the children''s discount.

Bedding is included, breakfast means choosing six things from a card; the conductor wakes one half an hour before. The lowest bunk has the most room for the head, the top one the warmest air. Lock the door with the chain *and* the bolt.

Stood 50 minutes at Linz because of snow. Both kids slept through it, we ate all the gingerbread.','Night train to Vienna','DEAD2283-45C7-5665-9716-4FA8FCBF4080',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(54,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,745020000,NULL,NULL,746305200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Nine days on São Miguel
#travel/azores #journal #Familie

Four of us, two grandparents, one great-grandmother, a rented van with a sliding door that didn''t slide. Boston to Ponta Delgada, S4 220, overnight on Aug 9, back on the 18th. Booking QX7LMD.

## Saturday, arrival
Landed at 6:50 in the morning in rain that came from the side. The luggage arrived without Zoë''s bag; it had a holiday of its own in Toronto and came two days later. Uncle Hélder waited with a sign on which he''d written only "US".

The house in Nordeste has walls a yard thick. Lurdes stood in the door, 91, in her apron, and looked at each of us as if she were checking a delivery.

## Sunday
Mass, then soup, then visits. Eleven houses, eleven cakes. Emil asked if we may go home when we''re full. A cousin showed the cows: they live outdoors all year, and are milked by a trailer that drives out to them.

## Monday
Sete Cidades in fog. From the viewpoint we saw nothing at all, white, for an hour; ate cheese; then it tore open for four minutes, one lake green and one blue. Nobody took a picture in time and I''m glad of it.

## Tuesday, hot water
Furnas. The stew is lowered into the ground at five in the morning and lifted at noon. It tastes of smoke and a bit of matches. We bathed in the iron pool; everything white that we wore is now orange. **Wear dark swimsuits.** The kids'' hair was rust until Friday.

## Wednesday
Rain. Learned to play *sueca* with Lurdes as my partner. She signals with her eyebrows, which isn''t allowed. We won nine dollars.

She told of the winter of the landslide. I''ll write that down separately, with her words.

## Thursday, whales
The boat from Vila Franca, three and a half hours, $70 for grown-ups. Four sperm whales and a whole nation of dolphins. The guide finds them because an old man sits in a tower with binoculars and calls by radio; in his youth he did the same for the hunters. Tiago got seasick and saw everything from underneath.

## Friday
Tea plantation at Gorreana, the only one far and wide. Machines from 1840 that still run. Zoë asked the woman who sorts leaves whether it''s boring. "No. The hands know it, so the head can go for a walk." For the talk!

Lost the van''s key on the beach at Moinhos. Found after two hours, by a dog.

## Saturday
Last full day. Tiago and his father whitewashed the garden wall, hardly speaking, perfectly happy. I sat in the kitchen and was shown the dough; see [[Avó''s recipe card]].

Bought: 2 kg of tea, cheese (São Jorge, 12 months, permitted through customs if sealed), a tile with the house number for the cabin.

## Sunday, home
The plane was four hours late because of a bird. Emil slept on the floor under the seats. Somebody had put a bag of hydrangea cuttings in my coat, wet paper around them. I know who.

## For next time
- nine days are too short for a person of 91
- rent from the small firm beside the harbor, not at the airport: half the price
- take rain pants, not umbrellas
- June for the hydrangeas, less fog
- learn the card game before','Nine days on São Miguel','EAF369C0-D119-5316-9D1E-3D45C793E3D6',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(55,5,1,1,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,665607600,NULL,664405800,NULL,NULL,665607600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Offer from Northbeam
#work

Head of design for their warehouse robots. Remote, 18% more, stock that may be worth nothing. Two weeks in Denver each quarter.

For: the team of nine, somebody else''s mess to clean up, the money for the cabin.
Against: Emil is three. I''d have to stop the evening class. Robots that replace people whom I''ve met.

Tiago says he''d manage. I believe him and still don''t want it.

Said no on Feb 2, by phone and not by mail. They asked what it would take; I said, "a harbor."','Offer from Northbeam','235355CB-BEB7-5ACE-880A-01E26F173C7D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(56,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,717118800,NULL,NULL,717118860,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Ok

Couldn''t sleep, so: it was the right decision not to tell the others before the contract was signed. Enough.','Ok','58B959BB-18DF-5A95-A81E-842028CB7DB6',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(57,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,654357600,NULL,NULL,717865200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Omas Apfelkuchen
#recipes #Familie

Aus ihrem Heft, Seite 14, mit dem Fettfleck.

Für den Mürbeteig: 300 g Mehl, 200 g kalte Butter, 100 g Zucker, 1 Ei, eine Prise Salz. Rasch verkneten, eine Stunde kalt stellen.

Belag: 1,2 kg säuerliche Äpfel (Boskoop, hier nehme ich Northern Spy), in Spalten. Zitronensaft, Zimt, eine Handvoll Rosinen, die über Nacht in Rum lagen.

Guss: 200 ml Sahne, 2 Eier, 2 Löffel Zucker, nach 25 Minuten darübergießen. Insgesamt 50 Minuten bei 180 Grad, untere Schiene.

Sie hat immer gesagt, der Kuchen sei erst am zweiten Tag gut. Bei uns hat er den zweiten Tag noch nie erlebt.','Omas Apfelkuchen','2F699E85-8592-555D-8876-4168D3E04A4F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(58,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,9,0,NULL,NULL,NULL,NULL,NULL,646941600,NULL,NULL,806097600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Packing list, carry-on only
#travel

- [ ] three shirts, two pants, one warm thing, swimsuit
- [ ] rain jacket *on the body*
- [ ] sandals or shoes, never both
- [ ] inhaler ×2, spacer, thermometer
- [ ] adapter, the flat one, and one cable with three heads
- [ ] laundry line that needs no pins
- [ ] card game, glue stick, empty notebook
- [ ] copies of passports, one in each bag
- [ ] earplugs. EARPLUGS.

Stays at home: hair dryer, "just in case" dress, second book.','Packing list, carry-on only','410225C3-C6BC-5487-B9D5-D9A6EFCD4F46',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(59,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,642168000,NULL,NULL,798309000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Paint colors
#home

- hallway: Oat Milk, eggshell, mix code 7Y-1182
- kitchen: same, but scrubbable matte
- Zoë''s room: Deep Harbor, two coats (2026; the pink below needed a primer)
- Emil''s room: ceiling midnight blue, 214 stuck-on stars
- outside doors: Barn Red, oil, nine years old and good
- cabin, inside: nothing, soap only

One gallon covers the hallway once. Leftovers are in the cellar, shelf 3, lids down.','Paint colors','EDC4A4BE-5B8B-54C6-82EA-7E922AC2FB4D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(60,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,656366400,NULL,NULL,750291000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Paper prototyping evening
#teaching/interaction design# #teaching/exercises

For 12 to 16 people, three hours, groups of three.

Bring: index cards, removable glue, transparent film, baking parchment (for dialogs one can see through), a kitchen timer, one cardboard phone per group.

0:00 Show a film of a child "using" a drawn phone. 
0:10 Each group gets a task from the hat: a vending machine for umbrellas, a library that lends tools, a dentist''s waiting list.
0:20 Build. No rulers! Straight lines make people polite.
1:10 Roles: one plays the computer and may not speak, one is the host, one takes notes. Testers rotate from table to table every 8 minutes.
2:15 Each group says what broke and repairs it in ten minutes.
2:35 Second round of testing. It''s *always* better, and that''s the lesson.

Mistake from the first years: letting them make a nice version afterward. They stop listening once it looks nice.','Paper prototyping evening','916D9EDC-690F-5628-A25F-195948FB7C21',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(61,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,2,2,0,NULL,NULL,NULL,NULL,NULL,752324400,NULL,NULL,800105400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Passport renewals
#home/papers #travel

Kids'' ones are valid for five years only, ours for ten.

- [x] Zoë: done, until Jan 2030
- [x] Emil: both parents have to be there, post office, by appointment. Photo without smile took 14 tries.
- [ ] mine, the German one: consulate in Boston, runs out March 2027, book three months ahead
- [ ] Tiago: name is missing its second part on the ticket system, always enter ROCHA LINDGREN

Fee for a child: $100 plus $35. They need the long birth certificate, not the short.','Passport renewals','4CC0E454-480D-57F0-ACDF-B74FC48E89A6',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(62,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,698428800,NULL,NULL,699731100,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Pastéis de nata, third attempt
#recipes #learning/portuguese

**Attempt 1**: custard leaked, soggy bottoms. **Attempt 2**: curdled, because the syrup was boiling when it met the yolks. **Attempt 3**: yes!

What changed:
- puff pastry rolled into a log, cut in discs of 3/4 inch, pressed with wet thumbs up the side, so that the spiral lies flat on the bottom
- syrup (1 cup sugar, 2/3 cup water, cinnamon stick, lemon peel) to 220 °F, then *cooled ten minutes*
- 6 yolks, 1 1/4 cups milk, 3 tbsp flour
- oven as hot as it goes, 550, on the pizza steel, 11 minutes. Black spots are a sign of success.

Makes 14. Queijada is something else, as Tiago''s mother has explained to me twice.','Pastéis de nata, third attempt','5722A383-E6CC-5668-9610-B17602C3FA6E',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(63,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,680353200,NULL,NULL,743860800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Pickles in brine
#recipes

No vinegar: they sour by themselves. Half-gallon jar.

- 2 lb small cucumbers, blossom end cut off (it makes them soft)
- water with 3.5% salt by weight: 35 g per liter
- dill heads, 4 garlic cloves, 1 tsp peppercorns, two oak or grape leaves for the crunch

Weigh down under the liquid. Counter, 68 °F, loosen the lid each day. Cloudy on day 3 is right; fuzzy is not. Half-sour after 5 days, done after 9, then cold.

2024: 12 jars, two lost to the warm week.','Pickles in brine','41ED5760-FD73-5427-AC24-77E836D4C335',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(64,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,771681600,NULL,NULL,803131200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Pocket money agreement
#kids

A dollar per week for each full year of age, on Sundays, without asking. Not tied to chores and not taken away as a punishment.

Three jars: spend, wait, give. At least one dollar into each of the last two; who leaves money in *wait* until Christmas gets 10% from the Bank of Mama.

Extra work is paid: windows $4 a room, raking $5, cleaning the rabbit next door as arranged with Samira.

We don''t lend. We did once, the matter of the light-up sneakers.','Pocket money agreement','ABD25A2B-ECE0-51F6-8190-65BB4075B719',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(65,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,663714000,NULL,NULL,812493000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Portuguese lesson log
#learning/portuguese

Tutor: Beatriz, Wednesdays at 8 p.m. by video, from Coimbra, where it''s already one in the morning (she says that she''s an owl). $22 an hour. What for? To understand Avó Lurdes when she tells stories, and not only the translation of their endings.

## 2022: sounds
The vowels get swallowed. *Telefone* has two and a half syllables. Exercise of the first weeks: read aloud while holding a cork between the teeth, then without. Nasal endings (*pão, mãe, põe*) with a hand on the nose: it has to vibrate.

First sentence spoken to the family, in March: "I am a tired table." They were very kind.

[[Ser and estar]] took all of February and March. The past tenses: *fui* is both "I went" and "I was", I decided to find that beautiful instead of annoying.

## 2023: from the book to people
Stopped with the textbook at chapter 11. Instead each week a voice message of 90 seconds to Tiago''s cousin Marisa, who answers with five. Learned more in that spring than in the year before. She corrects nothing, she only repeats it the right way.

The personal infinitive (*para eu fazer, para nós fazermos*): no other language I know has that. Beatriz gets shiny eyes over it.

Test in November, level A2: reading 88%, listening 71, writing 80, speaking 76. Listening is the hole.

## 2024: the islands
Three weeks of listening to the morning radio from Ponta Delgada before the trip, at the dishes. The accent of São Miguel has a *u* like in French. In the village I understood the priest and not the mailman. Notes on everything else in [[Nine days on São Miguel]].

The day it clicked was August 14: Lurdes told about the winter of the landslide, eleven minutes long, and I noticed only afterward that nobody had been translating.

## 2025: subjunctive
*Talvez chova. Espero que venhas. Quando eu for velha.* The future one is the strangest; it''s a tense for things that one leaves the door open for. 200 cards in the deck, 15 a day. Read my first whole book (*O Quintal*, a thin one, eleven weeks).

Break from June to August because of the cabin floor. Lost surprisingly little, mostly nouns.

## 2026: writing
Letters by hand to Lurdes, a page a month; Beatriz looks over them first, but from now on only for what could be misunderstood, not for the mistakes. Lurdes underlines the mistakes in red and sends them back. She was a schoolteacher, after all.

B2 in Boston on November 21, registration number 26-B2-00417, $180. Weak spots: *por* and *para*, still; and numbers when somebody says them fast, as on the phone with the pharmacy.

## Tricks that work for me
1. Learn a sentence, never a word.
2. Cook from a recipe in the language ([[Pastéis de nata, third attempt]]): the hands check whether one has understood.
3. Be silly in it. Emil and I have a rule that the bathtub speaks only Portuguese.
4. Ask "how would *you* say it?", not "is this right?"','Portuguese lesson log','BAD0A4EF-3964-5C29-AD7C-4CFEF1B2E4FD',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(66,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,750619200,NULL,NULL,750762000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Pricing workshop
#work/pricing #work/meetings

Half a day with finance, two captains and the tourist board.

![](whiteboard.png)

Agreement on three points. Residents never pay more than today. A child rides free with each adult until the age of ten. And the price on the first screen is the price at the end, no booking fee that appears at the bottom.

No agreement on charging more on August weekends. Captains are for it (the boats are overfull), the tourist board is against it, finance calculated +$310,000 a year. We''ll try it on one route in 2025, with a sign on the pier that explains why.

The club banner from [[Halyard weekly/April 15|the board''s wish]] came up again and died again.','Pricing workshop','D22980E0-362C-55B4-A3BC-DF517125A9C7',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(67,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,762790440,NULL,NULL,765972000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Questions for candidates
#work/hiring

Interviews for the junior opening. Same order for everyone, notes straight after.

- Tell me about something you made that nobody used. What did you do then?
- Here''s our refund page. What would you ask us before changing it?
- When did a developer change your mind?
- What do you do on the day when you don''t feel like it?
- Teach me something in three minutes, anything.

Not asked anymore: "your greatest weakness", whiteboard puzzles, homework that takes more than an hour (we pay $80 for that hour).

The best three minutes so far: how to fold a fitted sheet. She starts on May 12.','Questions for candidates','27DE7855-FF34-5DB0-9C0E-A77E36B02116',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(68,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,719613000,NULL,NULL,720826200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Quiet Machines
#reading/2023

Per Onstad, *Quiet Machines: a year without notifications*. 190 pages, read in three evenings.

He turns off every sound and badge for a year and keeps a count. First month: 84 grabs for the phone per day, although nothing called. After four months: 19. So the habit doesn''t live in the phone.

His three rules that I took over:
- the phone sleeps in the kitchen
- messages at 8, 12 and 6, and people who need me sooner may ring
- the home screen has only things which I''d do standing up

What he doesn''t say: he has no kids in school. Ours sends five "urgent" mails a week.

Three months later: rule 1 holds, 2 is ruined, 3 holds.','Quiet Machines','06F588AF-B40B-573A-9840-92E769DC68DD',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(69,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,749937600,NULL,NULL,750114000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Race report, Marsh Road Half
#running

October 6, 2024. 48 °F at the start, wind from the northeast, 1,900 people. My third time over this distance and the first with a plan that I''d kept almost to the end.

![](finish-board.jpg)

## The week before
Slept badly because of the release at work. Ate the wrong thing on Friday (mussels, of all animals). Laid out everything on Saturday night like a dead person on the hallway floor: shirt, number, four pins, gels, hat. Forgot the watch charger, so it started with 31%.

## Miles 1 to 4
Too fast. I knew it and did it all the same. First mile 8:19, downhill, with a man dressed as a lobster in front of me whom I didn''t want to lose to. Plan had said 9:00. The road runs along the marsh there, with herons standing about like umpires.

## Miles 5 to 8
Good. Settled behind two women from a club in Bath who talked about bathroom tiles. Took a gel at 45 minutes, the coffee kind. Ten minutes later my stomach turned over. Walked through the table at mile 7 and held on to the fence. A boy gave me a wet sponge and said, "You look bad." Honest volunteers are the best.

## Miles 9 to 11
The wind. Everybody hid behind everyone else. The left knee began at mile 9, outside, as if somebody pressed with a thumb. Same place as in spring ([[The left knee]]). I shortened my steps, which helped, and thought about the stove at the cabin, which helped more.

## Miles 12 and 13
Down to 10:10 a mile. Then the hill by the cannery. I walked 40 steps, counted, and ran again. Tiago and the kids stood at the last bend with a cowbell. Emil ran along for twenty yards in rain boots, and I''ve never been as fast as in those.

## After
2:03:52. Wanted 1:58, and two years ago I''d have cried for that time. Chocolate milk, a foil blanket, a piece of pizza at 10:40 in the morning. Couldn''t go down stairs until Wednesday.

Everyone asks about the lobster man. He came in eleven minutes before me, took off the claws, and was the school''s principal.

Anders had a look on Thursday: irritated but nothing torn, ten days of bicycle only. He didn''t say that he''d told me so. He wrote it on the exercise sheet, in small letters, under "notes".

## What to learn
1. Whoever starts 40 seconds a mile too fast pays back 70.
2. Never a new gel on race day. These were free at the number pick-up, that''s why.
3. Strength for the hip, all summer and not just three weeks.
4. Charge the watch. It died at mile 11.
5. Sign up again before the soreness is gone, otherwise I won''t. Done: next one is in 2026, not 2025, the cabin needs its fall.','Race report, Marsh Road Half','DCC53F93-CED1-5F4C-8A72-E9E14EDB8AD4',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(70,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,730573200,NULL,NULL,749314800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Raised beds 2024
#home/garden

Four beds of 4 by 8 feet, counted from the shed. Nothing returns to the same bed before three summers are over.

| Bed | 2022 | 2023 | 2024 |
|---|---|---|---|
| A | squash | beans | garlic, then fall lettuce |
| B | tomatoes | kale | peas, carrots |
| C | garlic | tomatoes | kale, chard |
| D | beans | potatoes | tomatoes |

New frames of untreated larch; the hemlock rotted in four years. Depth 16 inches, filled with one third leaf mold, one third compost, one third what was there. Cost: $212 for the planks, the rest was sweat and Jonah''s trailer.

Result in September: A and C splendid. B dried out every hot week, it''s the one that the maple''s roots have found. Next year a root barrier or only things that want little.','Raised beds 2024','23E93E92-0503-560C-A5E9-74CD718DC98A',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(71,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,4,3,0,NULL,NULL,NULL,NULL,NULL,757504800,NULL,NULL,788734800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Reading list 2025
#reading/2025

- [x] *A Short Course in Weather*, H. Brandvold (gift from Jonah)
- [x] *The Orchardist''s Daughter Returns*, book club, gave up on page 90
- [x] *Manual for Small Boats*, because of Hollis
- [x] *O Quintal*, in Portuguese! 96 pages in eleven weeks
- [ ] *Bread and Bureaucracy*, essays
- [ ] the thick one on the history of zero
- [ ] reread [[The Lighthouse Ledger, summary|the ledger book]]

Audiobooks for the drive to the cabin: pirates (Emil), the detective hamster (both), nothing with orphans (Zoë).','Reading list 2025','68120B0B-C794-5286-AAEE-E972FD868C6F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(72,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,737586000,NULL,NULL,737841600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Rocket cake
#recipes #kids/birthdays

For Emil''s sixth birthday. Two 9x13 sheets of the lactose-free lemon sponge (oat milk, 1 cup oil instead of butter).

Cut: one long body, two triangles for the fins, nose from the offcuts. Freeze the pieces for an hour before frosting, then crumbs stay put. Gray frosting = white and a knife tip of cocoa and a drop of blue. Porthole: ring of licorice. Flames: melted hard candy, 8 minutes at 350, on foil.

The flames fell over during the singing. Loudest applause of the day.','Rocket cake','3E926A68-02A7-57A6-B1EC-82186C1B39C0',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(73,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,691956000,NULL,NULL,754515600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Rubric for final projects
#teaching/interaction design#

| | Not yet | Pass | With honors |
|---|---|---|---|
| Problem | "an app for…" | one person, one situation | we''ve all felt it, no one had named it |
| Testing | friends | five strangers | strangers, twice, and it changed |
| Craft | unclear what is tappable | works without explaining | pleasant |
| Story | tells what was made | tells why | tells what was wrong first |

Three passes out of four are enough. Attendance counts separately. A project made with a chatbot''s help is fine if they can say what they threw away.','Rubric for final projects','EF25ED60-3DAA-55DE-AAE0-0D712950CC5B',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(74,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,670586400,NULL,NULL,803030400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Running shoes
#running

| Pair | Since | Miles | Verdict |
|---|---|---|---|
| gray ones | Apr 2022 | 512 | garden now |
| blue, wide | May 2023 | 468 | best ever, discontinued of course |
| stiff fast ones | Aug 2024 | 140 | blister under the arch, sold |
| green, size 9 1/2 | Mar 2025 | 455 | lace with the extra hole at the heel |
| green again | Jun 2026 | 0 | bought two pairs, box under the bed |

Done at about 450: the outer heel goes first. Left foot is half a size longer.','Running shoes','7B57C622-EDA9-5012-B005-6F47D9299BA2',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(75,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,738748200,NULL,NULL,738759900,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Safari crash on fare screen
#work/bugs #work/launch

Only iOS 15.8 and older. White page after choosing a departure. Console says

```
TypeError: undefined is not an object (evaluating ''fare.legs[0]'')
  at FareSentence.tsx:88
Sentry: TIDEMARK-WEB-4J7Q
```

Cause, says Olu: `Array.prototype.at` isn''t there, so the polyfill kicks in, but the polyfill loads after the fare component. Affects 0.9% of visitors, most of them on hand-me-down iPads at the ticket offices. So our own staff, great.

Fix in 5.2.1: load polyfills first. Until then the offices use the desktop page.','Safari crash on fare screen','38F6BC8D-04CF-5477-89D1-F8B057BAB4F0',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(76,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,733003200,NULL,NULL,734392800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Salt and Meridian
#reading/2024 #book club#

Novel by Idris Malkovic, ISBN 978-0-00-774410-2. Two map makers, married, then divorced, have to finish one map together.

Loved: the argument about a river which each of them has drawn differently; it goes on for thirty pages and is in truth about their son. The chapter in which nobody speaks.

Less: everybody is always looking out of windows.

Ending (careful): she leaves the disputed mile blank. The printer takes it for a mistake and fills it in.

Club vote: 6 for, 1 against, and Samira, who''d proposed it, was the one against.','Salt and Meridian','59D01A3C-839E-5517-AF93-6E5B2567C359',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(77,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,678312000,NULL,NULL,678312000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'Samira has our spare key. Hers hangs in our broom closet, on the nail with the blue ribbon.','Samira has our spare key. Hers hangs in our broom closet, on the nail with the blue ribbon.','31C1E59B-A016-500C-9A81-3F170AC49DF8',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(78,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,774705600,NULL,NULL,775944000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# São Paulo with Zoë
#travel/brazil #kids/zoë

Five days, only the two of us, for Tiago''s cousin Inês''s wedding. ✈️ LA 8181, seats 31A and B.

- café: the tiny one on Rua Harmonia, pão de queijo at seven in the morning, Zoë''s first cafézinho (three sips, awake until two)
- the façade of the library, where a naïve mural shows a jaguar reading
- piñata at the wedding, although that is Mexican; the bride''s wish
- crème brûlée of maracujá 💛
- Zoë was asked for her name everywhere, and in Portuguese nobody needs the two dots explained

Traffic: 90 minutes for six miles. Take the metro, line 4, yellow.','São Paulo with Zoë','5C06994B-77D7-5870-BB13-F5A868000042',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(79,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,746564400,NULL,NULL,810072000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# School run rota
#kids/school

| | Morning | Afternoon |
|---|---|---|
| Mon | Tiago | the Okafors |
| Tue | me, cargo bike | Tiago |
| Wed | the Okafors | me |
| Thu | Tiago | Samira (I teach) |
| Fri | walking bus, corner of Alder, 7:40 | pizza, everyone at ours |

Bell 8:05. Early release on first Wednesdays: 12:30! Emil''s booster seat moves with him; it was forgotten four times last year, always by me.','School run rota','4CD52922-E24B-5177-9748-0DFA73C9575D',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(80,5,1,1,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,716061600,NULL,694893600,NULL,NULL,716061600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Screen time contract
#kids

Signed by all four, in crayon. School days 30 minutes, weekends an hour, films together don''t count. Nothing after seven. Parents put theirs in the basket at dinner as well (Papa!!).

Ended in September 2023: the kids kept to it better than we did. What is left of it is the basket.','Screen time contract','DD5B8A93-D912-5F0F-AB3F-09DBBCAB6A4C',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(81,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,758925000,NULL,NULL,760382100,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Seed order
#home/garden

Order PT-2025-30418, sent Jan 18, came on Feb 3. Total $61.85 with shipping.

- sugar snap peas, 1/2 lb
- carrot ''Bolero'', pelleted (I''ve lost patience with thinning)
- couve galega, for [[Caldo verde]]; kale from the store isn''t the same
- runner beans, scarlet
- sweet peas, mixed, for the fence on Samira''s side
- cilantro, slow to bolt
- missing: shallot sets, credited $9.50

Swap with Hollis: my garlic for his leeks.','Seed order','D5338D7A-143D-5A7F-A2FE-F0779F509A11',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(82,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,665524800,NULL,NULL,737496000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Ser and estar
#learning/portuguese

Beatriz: forget "permanent and temporary". A dead man *está morto*, and that''s rather permanent.

Better: **ser** says what something is counted as, **estar** says how I find it. *A sopa é boa* = soup is a good thing. *A sopa está boa* = I''ve tasted this one.

- place of things that can''t walk: *ser* or *ficar* (*onde fica a estação?*)
- weather: *está frio*
- job, origin, time of day: *são três horas*
- *sou casada*, but *estou cansada*; I''ve mixed those up in front of his whole family

Drill: describe the kitchen for two minutes each day.','Ser and estar','C839565B-2CE4-508C-9A33-1EA53A96FAE5',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(83,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,699134400,NULL,NULL,700948800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Shifting without slides
#music/cello

From first to fourth position I always arrive with a siren. Ruth''s list:

1. The thumb travels first and isn''t clenched. Tap it before each shift.
2. Lighten the finger, don''t lift it: "like a skate".
3. The arm leads, the elbow opens already on the note before.
4. Slow bow during the move, so that the trip isn''t heard.
5. Sing the target beforehand. If I can''t sing it, the hand can''t know it.

Ghost shifts: silently, 20 times, eyes closed, then check with the harmonic. On March 19 nine of ten landed.','Shifting without slides','AC21ADC8-8BAC-58FC-9B91-29B66C9649C1',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(84,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,701640000,NULL,NULL,701641800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# شوربة عدس من سميرة
#recipes

كتبت لي جارتي سميرة هذه الوصفة بخط يدها.

- كوبان من العدس الأحمر
- بصلة كبيرة وجزرة واحدة
- ملعقة صغيرة من الكمون
- عصير ليمونة وزيت زيتون

نغسل العدس ثم نطبخه مع البصل والجزر في ثمانية أكواب من الماء لمدة نصف ساعة. نضيف الكمون والملح ونخلط الحساء حتى يصبح ناعماً. نقدمه مع الليمون والخبز المحمص. 🍋','شوربة عدس من سميرة','F8332E7F-62B3-5777-9342-78E06877B38C',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(85,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,745077600,NULL,NULL,747507600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Solar sums for the cabin
#cabin #learning/python

```python
loads = {  # watts, hours a day
    "lights": (4 * 6, 5),
    "water pump": (60, 0.4),
    "phones": (10, 4),
    "radio": (5, 3),
}
need = sum(w * h for w, h in loads.values())  # 199 Wh
cloudy_days, depth = 3, 0.8
battery = need * cloudy_days / depth  # 746 Wh
panel = need / (1.7 * 0.65)  # December sun hours, losses
print(f"{need} Wh, battery {battery:.0f} Wh, panel {panel:.0f} W")
```

So: one 200 watt panel, steep (65°) so that snow slides off, and a lithium iron phosphate battery of 100 Ah at 12.8 V. The charge controller must not charge below freezing; ours has a sensor, the cheap one didn''t.

Measured the first winter: never under 58%.','Solar sums for the cabin','6DCDBEC6-978A-5633-8E4D-97A91F130091',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(86,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,633085200,NULL,NULL,761998500,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Sourdough timetable
#recipes/bread

Two loaves, for a Saturday at home. Kitchen at 70 °F; two hours longer in winter.

| When | What |
|---|---|
| Fri 9 p.m. | feed: 30 g starter, 120 g flour, 120 g water |
| Sat 8:00 | 900 g bread flour, 100 g rye, 720 g water, wait 45 min |
| 8:45 | 200 g of the starter, 20 g salt |
| 9:30 to 12 | fold four times, every 40 min |
| 14:30 | shape, into baskets |
| Sun 8:00 | from refrigerator straight into the pot, 480 °F, 22 min lid on, 20 off |

Flat loaf = went too long on the counter, poke it sooner. Gummy inside = cut too soon; wait two hours, really.

The starter is called Gerda, born 2016. When traveling: dry a smear of her on parchment, crumble into a jar.','Sourdough timetable','1CB4B7FA-30C0-530F-972D-A87FEA03B2A6',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(87,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,732391200,NULL,NULL,740836800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Stove and chimney
#cabin

The smallest one that takes a 16 inch log: cast iron, 14,000 BTU, used, $600. Bigger would only mean open windows.

What the fire marshal wants:
- 36 inches to unprotected wood, 12 with a shield that has an air gap of one inch behind it
- hearth that reaches 18 inches past the door (we took slate from the school''s blackboards)
- the pipe ends 2 feet above anything within 10 feet, so ours is ridiculously tall
- an alarm for carbon monoxide, not over the bed

Sweep after each cord, or at Thanksgiving. Never burn driftwood: the salt eats the steel.','Stove and chimney','68126AEF-D76E-5B93-9A8F-848C6205BEC3',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(88,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,726944400,NULL,NULL,795290400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Swim times
#kids/zoë

Zoë, 50 yards, short course.

| Date | Free | Back | Breast |
|---|---|---|---|
| Jan 2024 | 48.2 | 55.9 | 1:04.0 |
| Oct 2024 | 43.7 | 50.1 | 58.8 |
| Mar 2025 | 40.9 | 47.5 | 55.2 |
| Mar 2026 | 36.4 | 43.0 | 52.6 |

State cut for 11-12 girls in backstroke is 41.9. Coach Lindy: she loses a second at each turn, because she looks for the wall. Count strokes from the flags instead: five.','Swim times','506ED816-E8BF-55C7-B90D-9654AE28A3A8',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(89,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,2,2,0,NULL,NULL,NULL,NULL,NULL,793378800,NULL,NULL,795196800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Telefonat wegen Mama
#Familie

Mit der Pflegeberaterin, Frau Dreher, Caritas Freiburg, 40 Minuten.

- Antrag auf Pflegegrad stellt Mama selbst oder wir mit Vollmacht, formlos bei der Kasse. Ab dem Tag des Anrufs zählt das Geld.
- Der Gutachter kommt nach Hause, etwa fünf Wochen später. Vorher zwei Wochen Tagebuch führen: was geht allein, was nicht. Mama putzt sonst vorher und sagt, alles sei prima.
- Hausnotruf 25 Euro im Monat, Kasse zahlt den größten Teil.

- [x] Vollmacht liegt bei meinem Bruder, Kopie an mich
- [x] Nachbarin Frau Isele gefragt, hat den Schlüssel
- [ ] Handlauf an der Kellertreppe, Schreiner anrufen
- [ ] Flug für die zweite Maiwoche

Ergebnis am 14. März: Pflegegrad 2. Sie ist beleidigt.','Telefonat wegen Mama','F56D8B4C-1824-5BEF-BAA3-2F4CD02E5D61',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(90,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,735292800,NULL,NULL,765018000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# The left knee
#running #health

Pain on the outside, begins after about five miles, worse downhill, gone the next day. Physical therapist (Anders, the one with the skeleton in a hat): the band along the thigh rubs, because the hip gives way. Not the joint itself.

What he prescribed:
- side steps with the rubber loop, 2 x 15, daily
- step-downs in front of a mirror, the kneecap has to stay over the second toe
- cadence from 162 up to 172, with a metronome
- foam roller: "if you like it, it doesn''t matter"
- no pause, but stop when it reaches 3 of 10

Six visits, copay of $30 each. Better after five weeks; came back in October 2024 when I stopped the exercises; gone since February 2025.','The left knee','23F9E6AC-D5FF-5EEF-8417-3EA9475C290F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(91,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,726354000,NULL,NULL,729382800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# The Lighthouse Ledger, summary
#reading/2024 #book club#

Adela Voss, *The Lighthouse Ledger*, Cormorant House 2021, 312 pages, ISBN 978-0-00-918273-4. Library copy, back by Feb 12. Nonfiction about the people who kept the lights on a northern coast, told through the account books in which they had to write everything down.

## What it is about
Voss''s grandfather was the last keeper on a rock that she calls Skarn. After his death she finds 41 ledgers in a bread oven. Oil, wicks, weather, wages, and in the margins everything for which there was no column. She reads them in order, one winter per chapter, and travels to each of the stations.

The claim of the book: care leaves a trace when it''s made to write itself down, and disappears when it isn''t. The lights were automated in the seventies, and no one knows anymore who wiped the glass.

## Part one, oil
The economy. A light burned about four barrels a winter. A keeper who used less got a bonus, a keeper who used none was dismissed. So they cheated upward: they poured oil away to stay in the middle. She uses that as her example for any target that people can see. I thought at once of our refund gate.

## Part two, glass
The lens had to be cleaned with spirit and a chamois, two hours each day, always from the center outward. Wives did half of it, unpaid, and show up in the books only as handwriting. Voss counts the hands: in 23 of 41 ledgers more than one person writes. The best chapter.

## Part three, fog
Fog signals. Before the horn there was a cannon, every 20 minutes, fired by whoever was awake. One girl of eleven did it for 52 hours while her parents were stuck on the mainland. Nobody in the administration found out, because she recorded it in her father''s name. Zoë wanted to hear this part three times.

## Part four, the switch
An electrician comes by helicopter, needs an afternoon, and leaves a box. The keeper goes on living there for another six years and goes on writing: "light lit itself, 16:40." This is where I had to put the book down.

## What I keep
- What gets a column gets done; what lives in the margin gets done by someone who loves it.
- Handover notes should be written for someone who is cold and in a hurry.
- A log is a form of company.
- She never says "invisible labor", she just counts hands. Show, count, stop.

## Where I disagree
She is hard on the engineers. The automatic lights failed less, and three families no longer drowned on the way to school. The book mentions it in a footnote. And the middle has about forty pages too many on the chemistry of whale oil.

## For the club
Meeting on Feb 13 at Jonah''s. My questions: What in your work is done in the margin? Who would notice if you automated it? Would you have left the rock?

## After the club
Seven came. Jonah''s father was a lighthouse electrician! He defended the box with great dignity. Two had not finished. Next is a novel, chosen by Samira: [[Salt and Meridian]].','The Lighthouse Ledger, summary','2AA395B7-7B45-5367-A3E7-CAC1E4E9273B',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(92,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,636213600,NULL,NULL,763226400,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# The old apple tree
#home/garden

Nobody knows its name. The man from the orchard society took three fruits and wrote "possibly Westfield, possibly a seedling". About 90 years old.

Pruning, each March on a dry day before the buds swell:
1. dead, sick, rubbing
2. what grows straight up (water shoots), but leave a third or it makes twice as many
3. open the middle so that a hat could fly through

Not more than a fifth of the crown per year. In 2021 I took too much and it sulked, no fruit for two summers.

Grafted two scions onto the crab at the fence on April 17, 2024, in case the old one falls. One took.

Yield 2025: 11 crates. Pressed at the grange, 23 gallons of cider.','The old apple tree','B4E17D62-8850-514C-8BBA-68760ADD365F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(93,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,767977200,NULL,NULL,767977560,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'The woman at the tool library fixes watches at night and once repaired the clock of the town hall with a bicycle spoke.

She told me while I was waiting for the belt sander. Her rule: never take apart two things on the same day. She''d like to teach it, and nobody has ever asked her. Ask her for the evening on testing? Her name is Philippa, she''s in on Saturdays until one.','The woman at the tool library fixes watches at night and once repaired the clock of the town hall with a bicycle spoke.','9E093380-859E-545A-B8F2-186E2D14F97E',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(94,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,632433600,NULL,NULL,808002000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Things the kids have said
#kids #journal

- Emil, 3, at the ocean: "Who left it on?"
- Zoë, 7: "I''m not tired, my eyes are just heavy."
- Emil, 4: "Yesterday is when I was small."
- Zoë, 8, about the cello: "It sounds like a door that knows a secret."
- Emil, 5, being told to hurry: "I am hurrying, it''s just inside."
- Emil, 6, on the plane: "The clouds are the ceiling of the fish."
- Zoë, 10: "You''re doing your client voice, Mama."
- Emil, 8, in the bunk at the cabin: "It''s so quiet that my ears are making their own."','Things the kids have said','C7EC6471-DDAA-5FD5-8E9A-490B64D56E3B',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(95,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,682156800,NULL,NULL,709414200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Timber list
#cabin

From the mill in Union, rough sawn, half the price of the store''s.

| Piece | Size | Count | Per piece |
|---|---|---|---|
| beam, doubled | 2x12x20 | 6 | $46 |
| joist | 2x10x12 | 16 | $22 |
| stud | 2x6x8 | 74 | $7.80 |
| rafter | 2x8x14 | 22 | $19 |
| porch post | 6x6x8 | 4 | $41 |

Order 10% more than counted. I ordered 5, and drove twice. Stack with sticks between, cover the top only, so that wind can pass.','Timber list','AEC5C45D-EB65-5E86-9C7F-C7519CD77EF5',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(96,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,637927200,NULL,NULL,781380000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Tomato notes
#home/garden

Sow indoors on the last weekend of March, never before; the leggy ones of 2021 fell over. Out after Memorial Day.

**Blight.** 2023: first brown patches on July 28 after a week of fog, all gone by August 10. 2024 under the lean-to roof, nothing wet on the leaves: clean until October. It''s the rain, not the variety. Pull off everything up to knee height, and water only the soil.

**Varieties**
- Stupice: first ripe July 11, small, kids eat them all
- Black Krim: best taste, cracks after each storm
- a paste type from Samira''s cousin without a name, 14 lb from two plants, the one for sauce
- new in 2025:

![](seed-packet.png)

**Feeding.** Nettle tea, 1:10, every second Sunday. Stop at the beginning of September. Don''t make it near the kitchen window.

**Split skins** come from watering in bursts. A soaker hose on a timer, 20 minutes at 5 a.m., solved that.','Tomato notes','47858F44-133E-53ED-9C99-3CB4CD9BF162',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(97,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,684504000,NULL,NULL,803134800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Tools lent out
#cabin #home

- circular saw → Jonah, May 2026
- long level → the Okafors, since March
- post-hole digger → Hollis (his, really)
- wet/dry vacuum → school, for the stage
- 24 ft ladder → came back June 14 with new feet, thank you whoever','Tools lent out','18FC7956-F4A1-5A3F-87DF-5F018C6A73CA',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(98,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,3,1,1,NULL,NULL,NULL,NULL,NULL,688852800,NULL,NULL,690022800,NULL,NULL,690022800,NULL,NULL,NULL,NULL,'# Treasure hunt for the eighth birthday
#kids/birthdays

Nine girls, Nov 12, two hours before dark.

- [x] clue 1 in the birdhouse, mirror writing
- [x] clue 2 frozen into an ice cube
- [x] clue 3 with lemon ink, needs the iron (me!)
- [ ] chest: chocolate coins, nine whistles (regret)','Treasure hunt for the eighth birthday','7D77BDB7-770B-5E25-9771-057349C42901',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(99,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,669117600,NULL,NULL,770548320,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Type licenses
#work/design system# #work/papers

| Typeface | For | Order | Until |
|---|---|---|---|
| Marrow Sans | app, web up to 2M views | FND-220316-0871 | perpetual |
| Marrow Mono | timetables | FND-220316-0872 | perpetual |
| Quillon | posters only | QT/5529 | Dec 2026 |

Quillon can''t go into the app: the license for embedding would be $3,400 a year. When the marketing people ask again, the answer is the PDF export with outlines.

Invoices went to finance; contact at the foundry answers within a day, licensing@example.com.','Type licenses','1A595462-C4BB-54EC-8B55-5D8553962334',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(100,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,703285200,NULL,NULL,703972800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Uma semana em Lisboa
#learning/portuguese #travel

Tarefa para a Beatriz: escrever um diário curto, sem dicionário.

**Segunda.** Chegámos cansados. O apartamento fica no quarto andar e não há elevador. O Emil contou noventa e seis degraus.

**Terça.** Perdi o guarda-chuva no eléctrico. Uma senhora correu atrás de nós para o devolver.

**Quinta.** Fomos ao museu dos azulejos. A Zoë desenhou um peixe azul e o guarda quis comprá-lo por dois euros.

**Sexta.** Na padaria pedi "três pais" em vez de "três pães". O padeiro respondeu que só tinha um, e estava em casa.

**Domingo.** Chuva. Jogámos às cartas com o vizinho, que faz batota.','Uma semana em Lisboa','5CF56D3B-82F6-5BE2-8CE8-05DD71F722C8',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(101,5,1,0,0,0,1,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,733775400,NULL,NULL,734011200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Usability test, round 3
#work/research #work/launch

Eight people, 35 minutes each, on the pier and not in the lab. Wren moderated, I took notes. Each got a $40 gift card. Clickable prototype v0.9 on a borrowed Pixel.

![](sticky-wall.jpg)

## Who came
Three commuters, two retired islanders, a courier, a mother with twins, a teenager who only came for the money and was the best of all. Two of them wear reading glasses and had left them at home, which turned out to be a gift.

## What worked
- Everybody found the next departure without help. Average 7 seconds; in round 1 it was 41.
- The sentence "Two adults and a bike" was read out loud by five people, smiling.
- Nobody missed the calendar.

## What did not
1. **The return trip.** Six of eight did not notice that the price covers both ways. They looked for a second purchase. Put the words *there and back* next to the amount.
2. **Apple Pay before the summary.** The courier paid without seeing the date and had picked tomorrow. A summary has to come first, even if it costs one tap.
3. **Dogs.** Three asked where to add the dog. Dogs are free on all boats, but that''s written nowhere, so people hunt for it. One line will do.
4. **Type size.** With system text set to the largest size the pay button slides below the fold and there is no hint that one can scroll. This is a blocker.

## What surprised us
The older two did not want an account, and said so before we asked. They''d rather type the email address each time. The teenager asked if she could send a ticket to a friend "like a photo". We never thought of handing over tickets. Wren adds it to the idea box.

## Quotes for the wall
- "Oh. That was it?" (commuter, after paying)
- "I''d trust it, it doesn''t blink." (retired islander)
- "Why does it want to know my birthday? It''s a boat." (courier)

## Numbers
| Task | Round 1 | Round 2 | Round 3 |
|---|---|---|---|
| next boat | 41 s | 12 s | 7 s |
| buy one way | 3:02 | 1:20 | 0:51 |
| change the date | nobody | 3 of 6 | 7 of 8 |

The 51 seconds contain on average nine of looking for a credit card in a coat. Wind was force five, two people had gloves on, and one session stopped for the 4:15 horn. I wouldn''t want any of that away: it''s the place where the thing gets used.

## Next
Fix 1, 2 and 4 this sprint; dogs are a copy change. No fourth round before the islanders get it: real trips will tell us more than another afternoon of pretending. Consent forms are in the gray cabinet, recordings get deleted on July 1.','Usability test, round 3','FBCBC0EA-84C0-586E-AC1D-FF2DAA45C0E2',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(102,5,1,0,0,0,0,0,0,NULL,0,1,NULL,NULL,0,5,0,NULL,NULL,NULL,NULL,NULL,631990800,NULL,NULL,814037400,NULL,814037400,NULL,NULL,NULL,NULL,NULL,'# Weekly review
#journal

Sundays, one pot of tea, at most 30 minutes.

- [ ] empty coat pockets, bag, camera roll
- [ ] calendar: one week back (who''s waiting for an answer?), two weeks ahead
- [ ] one line on each of us: who was unhappy, when
- [ ] money: anything odd on the card?
- [ ] lay out Monday

Then one sentence on the best minute of the week. ==Only one sentence.==

Oct 18: Emil reading to the walrus through the closed door.','Weekly review','5A7A2314-204D-58B3-89C2-F874B31D5FB5',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(103,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,715456800,NULL,NULL,813435600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# What is in the freezer
#home/kitchen

Top: bread (2), tortillas, peas for bumps
Middle: beans 2025 (6 bags), beans 2026 (11), pesto cubes, tomato sauce 9 pints
Bottom: half a lamb from Hollis''s sister, chowder stock, rhubarb
Door: ice packs, vodka, Zoë''s snowball from February 2024 (do not throw away!!)','What is in the freezer','A2D817B9-2AA1-5DF5-A12E-C7437FEF075F',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(104,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,708417000,NULL,NULL,709971600,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# What the slugs taught me
#home/garden

Four methods on four rows of lettuce, six plants each, counted after ten wet days.

- Copper tape: 3 left of 6
- Coffee grounds: 1 left. The myth is dead.
- Beer in a yogurt cup: 4 left, plus 57 drowned and one drunk beetle that I set free
- Board on the soil, turned over each morning at 6:30: 6 left

So the old board it is. They crawl under for shade, and I carry them to the railroad embankment. Far enough? Zoë painted white dots on twenty. Two came back, after nine days, 140 feet. Respect.','What the slugs taught me','9F07A837-5605-5452-9348-264511DD6E1B',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(105,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,745156800,NULL,NULL,745321200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Where people give up
#work/data #learning/sql

Funnel per step, for one week. Olu''s replica is read-only, so nothing can break.

```sql
with steps as (
  select session_id,
         max(step = ''departure'') as saw_departure,
         max(step = ''fare'') as saw_fare,
         max(step = ''pay'') as saw_pay,
         max(step = ''ticket'') as got_ticket
  from events
  where day between ''2024-08-05'' and ''2024-08-11''
  group by session_id
)
select sum(saw_departure), sum(saw_fare), sum(saw_pay), sum(got_ticket)
from steps;
```

Result: 48,120 → 39,007 → 30,450 → 28,911. The big hole is between departure and fare: one in five leaves there. Wren thinks they were only looking up the timetable, and are happy. To check: do those sessions come back within the day? (Yes: 71% of them do.) So it''s not a leak, it''s a timetable.','Where people give up','3B7E3084-075A-57C4-AB82-E9E3B14BF8A8',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(106,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,694198800,NULL,NULL,757360800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Why I keep notes

Not to remember. I rarely look things up, and when I do, I find the sentence next to the one that I wanted.

Writing a thing down lets me stop carrying it. At forty that''s half of the good in it; the other half is that the person who reads it, in three years, is a stranger with my handwriting, and I''d like to be kind to her. So: dates. Names. What it cost. What I was afraid of and whether it came.

Rules: today''s words, no summaries of feelings, one note per thing. And always write down where the rain barrel stands, see [[Garden diary 2025/November]].','Why I keep notes','63A4C163-9B31-53EB-AF90-B206DBFC4D5C',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(107,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,676717200,NULL,NULL,677362800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Why screw piles
#cabin

Three ways to stand on this hillside:

1. Poured concrete posts. $3,200, truck can''t get up, 60 bags by hand, four weeks of curing. Frost lifts them if they aren''t four and a half feet deep, and ledge says no.
2. Stones under the corners, as a hundred years ago. Free. Needs jacking each spring. Hollis grew up in one of those and laughs.
3. Steel helical piles. $4,050 for nine, in a morning, can be loaded the same day, and unscrewed if the cabin ever has to go.

We take 3. What decided it: no digging, so the blueberries survive.','Why screw piles','D78718E8-1E6F-50A3-B0C0-6D349E486222',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(108,5,1,0,0,0,0,0,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,730203000,NULL,NULL,730204800,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Why we dropped the month grid
#work/decisions #work/launch

Decision of Feb 20, so that nobody has to ask again in a year.

We remove the calendar from the booking screen and show "today, tomorrow, this weekend, pick a day" instead.

Why: 83% of tickets are bought for the same day and another 9% for the next. The grid took 60% of a phone''s height to serve the remaining 8%. Screen-reader users had to step through up to 42 cells.

What we lose: comparing prices across weeks. Only summer guests with cars did that, and they book on the desktop site, where the grid stays.

Who disagreed: Mattias at first, because competitors all have one. We said: they sell flights.

Revisit if same-day drops under 70%.','Why we dropped the month grid','385FF28F-020F-566A-840E-A2EF8FEBB5A5',NULL,NULL);
INSERT INTO "ZSFNOTE" VALUES(109,5,1,0,0,0,0,1,0,NULL,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,759614400,NULL,NULL,760219200,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'# Window functions, at last
#learning/sql

What made it click: `group by` melts rows together, `over` only lets each row look at its neighbors.

```sql
-- electricity used per year, from readings that only ever grow
select year,
       kwh - lag(kwh) over (order by year) as used,
       round(avg(kwh) over (order by year rows 2 preceding)) as smooth
from meter;

-- longest run of each month
select * from (
  select date, miles,
         row_number() over (partition by strftime(''%Y-%m'', date) order by miles desc) as n
  from runs
) where n = 1;
```

`where` can''t see the result of a window, therefore the wrapping. And `rank` leaves holes after ties, `dense_rank` doesn''t.','Window functions, at last','0330CBF0-CCA2-50DB-8131-F258AA96C081',NULL,NULL);
CREATE TABLE ZSFNOTEBACKLINK (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLOCATION INTEGER, ZVERSION INTEGER,
  ZLINKEDBY INTEGER, ZLINKINGTO INTEGER, ZMODIFICATIONDATE TIMESTAMP, ZTITLE VARCHAR,
  ZUNIQUEIDENTIFIER VARCHAR, ZSERVERDATA BLOB
);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(1,6,1,609,NULL,13,12,809817300,'Building permit','CAFBD94F-2C61-5895-8AB7-0FA511CFE3AF',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(2,6,1,712,NULL,13,107,809817300,'Why screw piles','90700D5E-A1D3-5AFE-B0B8-954CCFC64A13',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(3,6,1,2861,NULL,13,51,809817300,'Mice in the wall','DEA19237-BC7E-5C31-8849-EB82ED39498B',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(4,6,1,2928,NULL,13,87,809817300,'Stove and chimney','6B2F3811-48D1-5772-A012-864168D2066C',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(5,6,1,3204,NULL,13,85,809817300,'Solar sums for the cabin','29B08342-FC64-5A12-BACB-9771EE735B29',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(6,6,1,4202,NULL,13,19,809817300,'Composting toilet','AD471109-DDBC-5EFB-8AE3-9E057D862AF4',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(7,6,1,4968,NULL,13,14,809817300,'Cabin punch list','14CF3205-2336-5171-929C-A13BB1E4C08A',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(8,6,1,807,NULL,20,60,755823900,'Paper prototyping evening','D0671A38-B55E-5B49-AB08-1EF90C614CBE',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(9,6,1,1243,NULL,20,28,755823900,'Exhibition night checklist','80FA1A4E-F9C0-57FE-B978-D38F4F4941FF',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(10,6,1,1334,NULL,20,73,755823900,'Rubric for final projects','F4B409CA-71BB-5F11-9F1A-EBA7DA03D565',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(11,6,1,456,NULL,26,27,794169600,'Emil''s breathing plan','C70DDFBA-F885-5E7E-AD1F-A368631E1220',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(12,6,1,623,NULL,27,26,792612000,'Emergency sheet','A87AB3E5-565F-58FB-A9AA-44B67FACF01B',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(13,6,1,276,NULL,31,24,758456700,'Design critique, house rules','0D8685C3-2020-59DF-AF3D-8A816DFFAFE9',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(14,6,1,224,NULL,34,81,785007900,'Seed order','8A29B774-5852-542A-AD82-E5538FBE9AE7',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(15,6,1,474,NULL,34,92,785007900,'The old apple tree','7AB34BED-4689-5F03-8D9D-5CE43D9EBB5F',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(16,6,1,2014,NULL,34,103,785007900,'What is in the freezer','C3818C32-28A4-5B6A-B21E-9725D26721A7',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(17,6,1,196,NULL,38,69,812837700,'Race report, Marsh Road Half','2FA70017-498A-5067-B172-A16D524DEEA1',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(18,6,1,236,NULL,38,90,812837700,'The left knee','EBD86778-248E-5D20-ABB6-07A867DEB8EA',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(19,6,1,152,NULL,40,41,739138320,'Halyard weekly','00E0C2AE-E963-5E29-AE15-0B9C6F21E2A2',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(20,6,1,205,NULL,40,108,739138320,'Why we dropped the month grid','2919C798-D58D-5F87-9BC1-576595029626',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(21,6,1,1350,NULL,41,101,739727280,'Usability test, round 3','1BF4093B-2269-5AFF-9C9E-765BB8D9A775',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(22,6,1,3019,NULL,41,66,739727280,'Pricing workshop','7158A0AD-1959-51B3-A54A-F06984054F1A',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(23,6,1,4799,NULL,41,40,739727280,'Halyard launch plan','303DFFD9-135C-5F09-B843-BDC609B98D91',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(24,6,1,4876,NULL,41,10,739727280,'Boring interfaces, talk draft','3FF67894-2817-5A6A-8CAC-9C0839807BA6',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(25,6,1,2426,NULL,54,5,746305200,'Avó''s recipe card','54836A63-054B-5520-ABC7-78AF8697DCCA',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(26,6,1,640,NULL,65,82,812493000,'Ser and estar','9908A371-7970-5498-8210-D923B5B8451F',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(27,6,1,1572,NULL,65,54,812493000,'Nine days on São Miguel','5DFC1428-2B28-5C68-8B50-6B02C3799299',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(28,6,1,2679,NULL,65,62,812493000,'Pastéis de nata, third attempt','E7077C3E-8368-59A9-98C2-FF7B939FDE69',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(29,6,1,622,NULL,66,41,750762000,'Halyard weekly','3EA812E1-E305-5204-A0AB-C08118B3DD1E',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(30,6,1,1282,NULL,69,90,750114000,'The left knee','8F865660-7980-5A00-AA05-459416CE8E21',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(31,6,1,377,NULL,71,91,788734800,'The Lighthouse Ledger, summary','C9115304-1ACD-5B6D-8EC0-825AF0F81EA1',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(32,6,1,214,NULL,81,15,760382100,'Caldo verde','FDA0206C-CF5B-5F68-98E9-96A7129B311A',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(33,6,1,2925,NULL,91,76,729382800,'Salt and Meridian','3F41B78E-C228-52B6-BC93-86FA80994333',NULL);
INSERT INTO "ZSFNOTEBACKLINK" VALUES(34,6,1,546,NULL,106,34,757360800,'Garden diary 2025','324AA2CB-E79C-5929-8289-2EE0FEBE91BE',NULL);
CREATE TABLE ZSFNOTEFILE (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZDOWNLOADED INTEGER, ZENCRYPTED INTEGER,
  ZFILESIZE INTEGER, ZINDEX INTEGER, ZPERMANENTLYDELETED INTEGER, ZSKIPSYNC INTEGER,
  ZUNUSED INTEGER, ZUPLOADED INTEGER, ZVERSION INTEGER, ZNOTE INTEGER, ZPASSWORD INTEGER,
  ZSERVERDATA INTEGER, ZANIMATED INTEGER, ZHEIGHT INTEGER, ZWIDTH INTEGER, ZDURATION INTEGER,
  ZHEIGHT1 INTEGER, ZWIDTH1 INTEGER, ZCREATIONDATE TIMESTAMP, ZENCRYPTIONDATE TIMESTAMP,
  ZINSERTIONDATE TIMESTAMP, ZMODIFICATIONDATE TIMESTAMP, ZSEARCHTEXTDATE TIMESTAMP,
  ZUNUSEDDATE TIMESTAMP, ZUPLOADEDDATE TIMESTAMP, ZENCRYPTIONUNIQUEIDENTIFIER VARCHAR,
  ZFILENAME VARCHAR, ZLASTEDITINGDEVICE VARCHAR, ZNORMALIZEDFILEEXTENSION VARCHAR,
  ZSEARCHTEXT VARCHAR, ZUNIQUEIDENTIFIER VARCHAR, ZENCRYPTEDDATA BLOB
);
INSERT INTO "ZSFNOTEFILE" VALUES(1,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,746054100,NULL,746054100,746054100,746054100,NULL,NULL,NULL,'IMG 2041.jpg',NULL,'jpeg','Massa s0vada
1 kg farlnha
6 ovos  250 g açucar
fermento de padeiro 40 gr
amassar ate descolar
Lurdes - Nordeste 1961','9E42A64B-BEBE-5A1D-A44F-38E61EB106F0',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(2,8,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,8,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,767520000,NULL,767520000,767520000,767520000,NULL,NULL,NULL,'policy-cargo-bike.pdf',NULL,'pdf','Schedule of coverage. Insured item: electric longtail. Frame LT7 044 219. Deductible 150. Exclusion: unattended overnight unless chained to a fixed object. Underwriter: Pemberwell Mutual.','C537D958-58C3-53B0-9C3B-D4395A1162B1',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(3,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,9,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,754816200,NULL,754816200,754816200,754816200,NULL,NULL,NULL,'boiler-label.jpg',NULL,'jpeg','CALDERWlCK 24 kW combi
Ser.No. CW24-118-60277
max. oper. press 3.O bar
quallfied engineer only','6EF9BFAA-5B6E-5546-B99B-B7D2B699AEF8',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(4,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,11,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,790794000,NULL,790794000,790794000,790794000,NULL,NULL,NULL,'ortho-card.jpg',NULL,'jpeg','Dr. Featherstonhaugh DMD MS
next visit: THUR 3/19 @ 7:50a
elastlcs: class II 3/16 in. KANGAROO
bring retainer cse','256979B6-D53D-50BE-A8B3-B5FE70F42D28',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(5,8,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,12,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,679479300,NULL,679479300,679479300,679479300,NULL,NULL,NULL,'permit-2022-0417.pdf',NULL,'pdf','TOWN OF LARKHAM CODE ENFORCEMENT. Permit 2022-0417. Seasonal dwelling 240 sq ft. Shoreland zone setback 100 ft VERIFIED. Vegetation buffer shall be retained. Expires 24 months from issuance unless work has commenced. Fee paid $170. Ambrose Tuttle, CEO.','8EE35D7F-FC39-5294-8BC3-5AAFF33A7E67',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(6,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,39,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,722161800,NULL,722161800,722161800,722161800,NULL,NULL,NULL,'receipt-hotel.jpg',NULL,'jpeg','HARBOURVIEW INN & SUlTES
Rm 417 2 nts @ 189.00
mini bar: pistachio brlttle 7.50
TOTAL CAD 438.47
auth 00X913','5914C1F4-163A-537C-B1FB-E8BB45C483B4',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(7,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,46,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,690631200,NULL,690631200,690631200,690631200,NULL,NULL,NULL,'eki-sign.jpg',NULL,'jpeg','嵯峨野線 2番のりば
快速 園部ゆき 10:24
platfrm 32-33 TEMPORARlLY relocated','7526953C-0D70-5426-A560-FC8DD3929FB1',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(8,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,49,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,749581200,NULL,749581200,749581200,749581200,NULL,NULL,NULL,'repair-bill.png',NULL,'png','WlLLOUGHBY STRINGS - workshop
fit new soundp0st, reglue lower bout seam
bridge shaved 1.2 mm  endpin colIar
TOTAL 342.00 pd chk 2281','379532FE-725A-5A86-85E6-7AF9D00CBA5D',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(9,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,66,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,750762000,NULL,750762000,750762000,750762000,NULL,NULL,NULL,'whiteboard.png',NULL,'png','pay-as-you-sail ???
STAMPCARD 10+1
shoulder seasn -20 %
Mattias: cannibaiize passes?
OWNER -> Ottoline by Xmas','5EFE8BF0-7AC3-57F7-8BBD-F68FC200D96D',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(10,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,69,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,750114000,NULL,750114000,750114000,750114000,NULL,NULL,NULL,'finish-board.jpg',NULL,'jpeg','GUNTIME 2:04:17  CHlP 2:03:52
DlV PL 31/88  F40-44
BIB 1620 LINDGREN-ROCHA N
timing by Splitfox','7607AB82-596D-50AD-9DA6-AB28AE2B1E9F',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(11,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,96,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,781380000,NULL,781380000,781380000,781380000,NULL,NULL,NULL,'seed-packet.png',NULL,'png','HElRLOOM ''Grizelda'' indeterm.
78 dys to maturity
Sow 1/4 in deep . thin 2 strongest
PKD FOR 2025 lot 7714-C','C3D0B097-40EF-57A0-87C1-B22CF7160B50',NULL);
INSERT INTO "ZSFNOTEFILE" VALUES(12,9,1,NULL,0,NULL,0,0,NULL,0,NULL,NULL,101,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,734011200,NULL,734011200,734011200,734011200,NULL,NULL,NULL,'sticky-wall.jpg',NULL,'jpeg','P2 grumbles re: bicyle rack
P5 thumbprint unlock FAILS w/ gloves
P7 ''wheres my dachshund''
severlty: orange = showst0pper','AF185F97-4B5C-502A-98F0-B5AD1D24D8AA',NULL);
CREATE TABLE ZSFNOTEFILESERVERDATA (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFILE INTEGER, Z7_FILE INTEGER,
  ZSYSTEMFIELDS BLOB
);
CREATE TABLE ZSFNOTESERVERDATA (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNOTE INTEGER, ZSYSTEMFIELDS BLOB
);
CREATE TABLE ZSFNOTETAG (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENCRYPTED INTEGER,
  ZHIDESUBTAGSNOTES INTEGER, ZISROOT INTEGER, ZPINNED INTEGER, ZSORTING INTEGER,
  ZSORTINGDIRECTION INTEGER, ZVERSION INTEGER, ZENCRYPTEDDATE TIMESTAMP,
  ZHIDESUBTAGSNOTESDATE TIMESTAMP, ZMODIFICATIONDATE TIMESTAMP, ZPINNEDDATE TIMESTAMP,
  ZPINNEDNOTESDATE TIMESTAMP, ZSORTINGDATE TIMESTAMP, ZSORTINGDIRECTIONDATE TIMESTAMP,
  ZTAGCONDATE TIMESTAMP, ZTAGCON VARCHAR, ZTITLE VARCHAR, ZUNIQUEIDENTIFIER VARCHAR,
  ZSERVERDATA BLOB
);
INSERT INTO "ZSFNOTETAG" VALUES(1,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,779961900,NULL,NULL,NULL,NULL,NULL,NULL,'work','750BCA42-CC12-5650-BF7E-6BD9A0F0557B',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(2,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,779961900,NULL,NULL,NULL,NULL,NULL,NULL,'work/one-on-ones','A7AFEC23-FDD7-5EE3-BFEC-65A6685CDF6F',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(3,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,709830900,NULL,NULL,NULL,NULL,NULL,NULL,'work/accessibility','E4F81C57-72E3-5450-B620-CA717E6E591C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(4,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,773688600,NULL,NULL,NULL,NULL,NULL,NULL,'work/meetings','8E425B57-7D8F-51EF-AF96-AF5C67F62BD3',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(5,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,773688600,NULL,NULL,NULL,NULL,NULL,NULL,'work/bugs','3E497AD8-91B6-5413-B07B-0B9B8C36D750',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(6,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,746054100,NULL,NULL,NULL,NULL,NULL,NULL,'recipes','F3193C7A-F4E8-5772-B2AE-D0E557A6F5C9',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(7,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,746054100,NULL,NULL,NULL,NULL,NULL,NULL,'Familie','83BC4858-E3D5-51F2-AE28-533BA6F0921F',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(8,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,777721500,NULL,NULL,NULL,NULL,NULL,NULL,'home','4ADC7AD8-A599-5933-BCBA-A829C5AEA01D',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(9,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,777721500,NULL,NULL,NULL,NULL,NULL,NULL,'home/tech','F329B76F-AC4D-5853-8AAD-6003AD597B9E',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(10,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,761002200,NULL,NULL,NULL,NULL,NULL,NULL,'home/papers','803EBD45-5C3D-5381-BBCF-5CF8C95EC940',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(11,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,754816200,NULL,NULL,NULL,NULL,NULL,NULL,'home/appliances','357DE9F3-5602-5E0D-A06C-AD970D582357',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(12,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,749169060,NULL,NULL,NULL,NULL,NULL,NULL,'work/talks','9890FC85-3B06-500A-96F3-B6B471CC1C4B',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(13,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,790794000,NULL,NULL,NULL,NULL,NULL,NULL,'kids','11F0FDCB-BF60-5B0F-A0A4-D080B0407700',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(14,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,790794000,NULL,NULL,NULL,NULL,NULL,NULL,'kids/zoë','91C28C75-1745-5292-896D-E89E6D8CE6BB',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(15,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,790794000,NULL,NULL,NULL,NULL,NULL,NULL,'kids/health','5F49BEFA-C768-5504-93B4-C207387F140C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(16,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,679479300,NULL,NULL,NULL,NULL,NULL,NULL,'cabin','8EF0D293-9822-5157-B05E-4EFB4DC36F8E',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(17,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,790459200,NULL,NULL,NULL,NULL,NULL,NULL,'music','82AADEA2-2D7F-523D-B519-24936F271554',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(18,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,790459200,NULL,NULL,NULL,NULL,NULL,NULL,'music/cello','44254452-F9A4-57C5-8AF2-A5C04275C376',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(19,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,690639000,NULL,NULL,NULL,NULL,NULL,NULL,'home/garden','47203D6B-306D-50CA-BBA9-19960C26CD4D',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(20,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,755823900,NULL,NULL,NULL,NULL,NULL,NULL,'teaching','ED4B684B-5881-552F-BF78-CA489B32FA67',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(21,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,755823900,NULL,NULL,NULL,NULL,NULL,NULL,'teaching/interaction design','E78DBEC8-8DF3-5AA5-A7A8-558886ABE773',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(22,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,731617200,NULL,NULL,NULL,NULL,NULL,NULL,'kids/school','D76C0E26-C400-54FA-9227-4C4D671B9823',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(23,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,725896800,NULL,NULL,NULL,NULL,NULL,NULL,'learning','B2AE9E08-9561-50B1-A1A7-B062B24E8F67',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(24,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,725896800,NULL,NULL,NULL,NULL,NULL,NULL,'learning/python','ED48E6F9-4E5D-53F1-BE7C-DDBF7E9DEF67',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(25,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,752677200,NULL,NULL,NULL,NULL,NULL,NULL,'work/handbook','9E820F6D-672D-5AC8-B2B8-200EFB4245A8',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(26,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,792612000,NULL,NULL,NULL,NULL,NULL,NULL,'kids/emil','0D157011-125E-55BB-9014-2C1210F2B900',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(27,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,797288400,NULL,NULL,NULL,NULL,NULL,NULL,'learning/portuguese','0289F42F-9E07-54F6-AA4F-A6B30F52F011',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(28,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,758456700,NULL,NULL,NULL,NULL,NULL,NULL,'work/hiring','65C0AFE3-BDF2-5F75-A207-ADFD45B4E5AD',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(29,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,644061600,NULL,NULL,NULL,NULL,NULL,NULL,'running','A1FBA8CE-E65B-5A15-B2EF-56E971AF063C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(30,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,644061600,NULL,NULL,NULL,NULL,NULL,NULL,'running/plans','BDD9E107-4DF9-54DE-82AB-E2CAE570CC94',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(31,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,785007900,NULL,NULL,NULL,NULL,NULL,NULL,'journal','54F03054-DAF4-5EEC-839A-2060D28FD199',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(32,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,737229600,NULL,NULL,NULL,NULL,NULL,NULL,'learning/c++','28B98E8F-3A02-51DD-8B4A-7387694C4A50',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(33,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,722161800,NULL,NULL,NULL,NULL,NULL,NULL,'work/travel','846C91A0-12AF-5D06-8007-ACA3E466B784',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(34,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,739138320,NULL,NULL,NULL,NULL,NULL,NULL,'work/launch','F8D13EBE-6487-5BA2-BCC0-A54B7D3AACDC',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(35,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,761587320,NULL,NULL,NULL,NULL,NULL,NULL,'work/design system','7CEC6343-2E22-53F0-A712-8D27CC275828',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(36,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,695493000,NULL,NULL,NULL,NULL,NULL,NULL,'home/kitchen','11C96CCC-73D6-52F1-97F3-6BAECFE7DCD9',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(37,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,690631200,NULL,NULL,NULL,NULL,NULL,NULL,'travel','F1CEC6AE-1C46-51F9-8F5B-E9114A3CFC74',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(38,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,690631200,NULL,NULL,NULL,NULL,NULL,NULL,'travel/日本','BD1CF996-D8F9-5A85-9BC9-AB2A6A90926C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(39,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,791640000,NULL,NULL,NULL,NULL,NULL,NULL,'volunteering','792D85FF-8C99-5646-A2E8-DA54ABE70015',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(40,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,791640000,NULL,NULL,NULL,NULL,NULL,NULL,'volunteering/city compost','B1502711-0819-5153-812D-CD4B04AA202A',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(41,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,746305200,NULL,NULL,NULL,NULL,NULL,NULL,'travel/azores','E4B92B41-2ECE-51CB-862E-34C29628372C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(42,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,750291000,NULL,NULL,NULL,NULL,NULL,NULL,'teaching/exercises','39CD2168-94DF-50E2-96B0-803B9A8CBAB9',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(43,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,750762000,NULL,NULL,NULL,NULL,NULL,NULL,'work/pricing','D96981EF-2CD1-535D-BC8A-532DD8C64DE5',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(44,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,720826200,NULL,NULL,NULL,NULL,NULL,NULL,'reading','612ABE73-7628-5FF6-B3EB-33F3FDFCB440',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(45,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,720826200,NULL,NULL,NULL,NULL,NULL,NULL,'reading/2023','EF3973D8-43B2-559D-9528-F8796F51262F',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(46,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,788734800,NULL,NULL,NULL,NULL,NULL,NULL,'reading/2025','4B368700-CA85-51E3-AE13-86CA3ABB5B9C',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(47,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,737841600,NULL,NULL,NULL,NULL,NULL,NULL,'kids/birthdays','BDD66727-4FF3-5EB9-B6B2-8561742DB4F8',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(48,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,734392800,NULL,NULL,NULL,NULL,NULL,NULL,'reading/2024','669A77DE-F78B-52FB-9FC4-C47DB6CBC60A',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(49,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,734392800,NULL,NULL,NULL,NULL,NULL,NULL,'book club','E3A989CD-1245-5119-BFE2-14141BF0D3E5',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(50,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,775944000,NULL,NULL,NULL,NULL,NULL,NULL,'travel/brazil','9417523C-5160-5B91-8CA8-5DD36F6F1948',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(51,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,761998500,NULL,NULL,NULL,NULL,NULL,NULL,'recipes/bread','0F15F5B3-070C-5A8C-867A-DF767E4E6BB7',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(52,13,1,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,765018000,NULL,NULL,NULL,NULL,NULL,NULL,'health','721A7177-47F4-5F7A-A86D-7D8F4542302E',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(53,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,770548320,NULL,NULL,NULL,NULL,NULL,NULL,'work/papers','313A53E2-5F49-5015-B5DF-46750822AA7B',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(54,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,734011200,NULL,NULL,NULL,NULL,NULL,NULL,'work/research','E7E8D895-0C2C-5E9E-B32E-91A05E0B5322',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(55,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,745321200,NULL,NULL,NULL,NULL,NULL,NULL,'work/data','EB080757-2896-566E-B913-2D98A21BADD9',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(56,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,745321200,NULL,NULL,NULL,NULL,NULL,NULL,'learning/sql','35E3CDDC-6C74-594A-AC4F-3372A51AD0EA',NULL);
INSERT INTO "ZSFNOTETAG" VALUES(57,13,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,730204800,NULL,NULL,NULL,NULL,NULL,NULL,'work/decisions','8A2FBC8A-921D-506A-9ECE-869AE96DBE63',NULL);
CREATE TABLE ZSFPASSWORD (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBIOMETRY INTEGER,
  ZENCRYPTIONVERSION INTEGER, ZCREATIONDATE TIMESTAMP, ZCREATIONDEVICE VARCHAR,
  ZUNIQUEIDENTIFIER VARCHAR, ZENCRYPTEDDATA BLOB, ZHINT BLOB
);
INSERT INTO "ZSFPASSWORD" VALUES(1,14,1,NULL,2,NULL,NULL,'0CBA164E-F135-5F19-B889-E24F5B23CE1E',NULL,NULL);
CREATE TABLE ZSFSERVERMETADATA (
  Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNOTEZONESUBSCRIPTIONID VARCHAR,
  ZNOTEZONEIDDATA BLOB, ZSERVERCHANGETOKENDATA BLOB
);
CREATE TABLE Z_5PINNEDINTAGS (
  Z_5PINNEDNOTES INTEGER, Z_13PINNEDINTAGS INTEGER,
  PRIMARY KEY (Z_5PINNEDNOTES, Z_13PINNEDINTAGS)
);
INSERT INTO "Z_5PINNEDINTAGS" VALUES(14,16);
INSERT INTO "Z_5PINNEDINTAGS" VALUES(40,34);
CREATE TABLE Z_5TAGS (Z_5NOTES INTEGER, Z_13TAGS INTEGER, PRIMARY KEY (Z_5NOTES, Z_13TAGS));
INSERT INTO "Z_5TAGS" VALUES(1,1);
INSERT INTO "Z_5TAGS" VALUES(1,2);
INSERT INTO "Z_5TAGS" VALUES(2,1);
INSERT INTO "Z_5TAGS" VALUES(2,2);
INSERT INTO "Z_5TAGS" VALUES(3,1);
INSERT INTO "Z_5TAGS" VALUES(3,3);
INSERT INTO "Z_5TAGS" VALUES(4,1);
INSERT INTO "Z_5TAGS" VALUES(4,4);
INSERT INTO "Z_5TAGS" VALUES(4,5);
INSERT INTO "Z_5TAGS" VALUES(5,6);
INSERT INTO "Z_5TAGS" VALUES(5,7);
INSERT INTO "Z_5TAGS" VALUES(6,8);
INSERT INTO "Z_5TAGS" VALUES(6,9);
INSERT INTO "Z_5TAGS" VALUES(7,8);
INSERT INTO "Z_5TAGS" VALUES(7,10);
INSERT INTO "Z_5TAGS" VALUES(8,8);
INSERT INTO "Z_5TAGS" VALUES(8,10);
INSERT INTO "Z_5TAGS" VALUES(9,8);
INSERT INTO "Z_5TAGS" VALUES(9,11);
INSERT INTO "Z_5TAGS" VALUES(10,1);
INSERT INTO "Z_5TAGS" VALUES(10,12);
INSERT INTO "Z_5TAGS" VALUES(11,13);
INSERT INTO "Z_5TAGS" VALUES(11,14);
INSERT INTO "Z_5TAGS" VALUES(11,15);
INSERT INTO "Z_5TAGS" VALUES(12,16);
INSERT INTO "Z_5TAGS" VALUES(12,8);
INSERT INTO "Z_5TAGS" VALUES(12,10);
INSERT INTO "Z_5TAGS" VALUES(13,16);
INSERT INTO "Z_5TAGS" VALUES(14,16);
INSERT INTO "Z_5TAGS" VALUES(15,6);
INSERT INTO "Z_5TAGS" VALUES(16,17);
INSERT INTO "Z_5TAGS" VALUES(16,18);
INSERT INTO "Z_5TAGS" VALUES(17,17);
INSERT INTO "Z_5TAGS" VALUES(18,8);
INSERT INTO "Z_5TAGS" VALUES(18,19);
INSERT INTO "Z_5TAGS" VALUES(19,16);
INSERT INTO "Z_5TAGS" VALUES(20,20);
INSERT INTO "Z_5TAGS" VALUES(20,21);
INSERT INTO "Z_5TAGS" VALUES(21,13);
INSERT INTO "Z_5TAGS" VALUES(21,14);
INSERT INTO "Z_5TAGS" VALUES(21,22);
INSERT INTO "Z_5TAGS" VALUES(22,6);
INSERT INTO "Z_5TAGS" VALUES(23,23);
INSERT INTO "Z_5TAGS" VALUES(23,24);
INSERT INTO "Z_5TAGS" VALUES(23,8);
INSERT INTO "Z_5TAGS" VALUES(23,9);
INSERT INTO "Z_5TAGS" VALUES(24,1);
INSERT INTO "Z_5TAGS" VALUES(24,25);
INSERT INTO "Z_5TAGS" VALUES(25,8);
INSERT INTO "Z_5TAGS" VALUES(25,11);
INSERT INTO "Z_5TAGS" VALUES(26,8);
INSERT INTO "Z_5TAGS" VALUES(26,13);
INSERT INTO "Z_5TAGS" VALUES(27,13);
INSERT INTO "Z_5TAGS" VALUES(27,26);
INSERT INTO "Z_5TAGS" VALUES(27,15);
INSERT INTO "Z_5TAGS" VALUES(28,20);
INSERT INTO "Z_5TAGS" VALUES(28,21);
INSERT INTO "Z_5TAGS" VALUES(29,23);
INSERT INTO "Z_5TAGS" VALUES(29,27);
INSERT INTO "Z_5TAGS" VALUES(30,20);
INSERT INTO "Z_5TAGS" VALUES(31,1);
INSERT INTO "Z_5TAGS" VALUES(31,25);
INSERT INTO "Z_5TAGS" VALUES(31,28);
INSERT INTO "Z_5TAGS" VALUES(32,6);
INSERT INTO "Z_5TAGS" VALUES(33,29);
INSERT INTO "Z_5TAGS" VALUES(33,30);
INSERT INTO "Z_5TAGS" VALUES(34,8);
INSERT INTO "Z_5TAGS" VALUES(34,19);
INSERT INTO "Z_5TAGS" VALUES(34,31);
INSERT INTO "Z_5TAGS" VALUES(35,7);
INSERT INTO "Z_5TAGS" VALUES(36,23);
INSERT INTO "Z_5TAGS" VALUES(36,32);
INSERT INTO "Z_5TAGS" VALUES(36,8);
INSERT INTO "Z_5TAGS" VALUES(36,19);
INSERT INTO "Z_5TAGS" VALUES(38,29);
INSERT INTO "Z_5TAGS" VALUES(38,30);
INSERT INTO "Z_5TAGS" VALUES(39,1);
INSERT INTO "Z_5TAGS" VALUES(39,33);
INSERT INTO "Z_5TAGS" VALUES(40,1);
INSERT INTO "Z_5TAGS" VALUES(40,34);
INSERT INTO "Z_5TAGS" VALUES(41,1);
INSERT INTO "Z_5TAGS" VALUES(41,34);
INSERT INTO "Z_5TAGS" VALUES(41,4);
INSERT INTO "Z_5TAGS" VALUES(42,6);
INSERT INTO "Z_5TAGS" VALUES(43,16);
INSERT INTO "Z_5TAGS" VALUES(44,1);
INSERT INTO "Z_5TAGS" VALUES(44,35);
INSERT INTO "Z_5TAGS" VALUES(45,8);
INSERT INTO "Z_5TAGS" VALUES(45,36);
INSERT INTO "Z_5TAGS" VALUES(46,37);
INSERT INTO "Z_5TAGS" VALUES(46,38);
INSERT INTO "Z_5TAGS" VALUES(47,39);
INSERT INTO "Z_5TAGS" VALUES(47,40);
INSERT INTO "Z_5TAGS" VALUES(48,29);
INSERT INTO "Z_5TAGS" VALUES(49,17);
INSERT INTO "Z_5TAGS" VALUES(49,18);
INSERT INTO "Z_5TAGS" VALUES(49,8);
INSERT INTO "Z_5TAGS" VALUES(49,10);
INSERT INTO "Z_5TAGS" VALUES(50,8);
INSERT INTO "Z_5TAGS" VALUES(51,16);
INSERT INTO "Z_5TAGS" VALUES(52,13);
INSERT INTO "Z_5TAGS" VALUES(52,26);
INSERT INTO "Z_5TAGS" VALUES(53,37);
INSERT INTO "Z_5TAGS" VALUES(54,37);
INSERT INTO "Z_5TAGS" VALUES(54,41);
INSERT INTO "Z_5TAGS" VALUES(54,31);
INSERT INTO "Z_5TAGS" VALUES(54,7);
INSERT INTO "Z_5TAGS" VALUES(55,1);
INSERT INTO "Z_5TAGS" VALUES(57,6);
INSERT INTO "Z_5TAGS" VALUES(57,7);
INSERT INTO "Z_5TAGS" VALUES(58,37);
INSERT INTO "Z_5TAGS" VALUES(59,8);
INSERT INTO "Z_5TAGS" VALUES(60,20);
INSERT INTO "Z_5TAGS" VALUES(60,21);
INSERT INTO "Z_5TAGS" VALUES(60,42);
INSERT INTO "Z_5TAGS" VALUES(61,8);
INSERT INTO "Z_5TAGS" VALUES(61,10);
INSERT INTO "Z_5TAGS" VALUES(61,37);
INSERT INTO "Z_5TAGS" VALUES(62,6);
INSERT INTO "Z_5TAGS" VALUES(62,23);
INSERT INTO "Z_5TAGS" VALUES(62,27);
INSERT INTO "Z_5TAGS" VALUES(63,6);
INSERT INTO "Z_5TAGS" VALUES(64,13);
INSERT INTO "Z_5TAGS" VALUES(65,23);
INSERT INTO "Z_5TAGS" VALUES(65,27);
INSERT INTO "Z_5TAGS" VALUES(66,1);
INSERT INTO "Z_5TAGS" VALUES(66,43);
INSERT INTO "Z_5TAGS" VALUES(66,4);
INSERT INTO "Z_5TAGS" VALUES(67,1);
INSERT INTO "Z_5TAGS" VALUES(67,28);
INSERT INTO "Z_5TAGS" VALUES(68,44);
INSERT INTO "Z_5TAGS" VALUES(68,45);
INSERT INTO "Z_5TAGS" VALUES(69,29);
INSERT INTO "Z_5TAGS" VALUES(70,8);
INSERT INTO "Z_5TAGS" VALUES(70,19);
INSERT INTO "Z_5TAGS" VALUES(71,44);
INSERT INTO "Z_5TAGS" VALUES(71,46);
INSERT INTO "Z_5TAGS" VALUES(72,6);
INSERT INTO "Z_5TAGS" VALUES(72,13);
INSERT INTO "Z_5TAGS" VALUES(72,47);
INSERT INTO "Z_5TAGS" VALUES(73,20);
INSERT INTO "Z_5TAGS" VALUES(73,21);
INSERT INTO "Z_5TAGS" VALUES(74,29);
INSERT INTO "Z_5TAGS" VALUES(75,1);
INSERT INTO "Z_5TAGS" VALUES(75,5);
INSERT INTO "Z_5TAGS" VALUES(75,34);
INSERT INTO "Z_5TAGS" VALUES(76,44);
INSERT INTO "Z_5TAGS" VALUES(76,48);
INSERT INTO "Z_5TAGS" VALUES(76,49);
INSERT INTO "Z_5TAGS" VALUES(78,37);
INSERT INTO "Z_5TAGS" VALUES(78,50);
INSERT INTO "Z_5TAGS" VALUES(78,13);
INSERT INTO "Z_5TAGS" VALUES(78,14);
INSERT INTO "Z_5TAGS" VALUES(79,13);
INSERT INTO "Z_5TAGS" VALUES(79,22);
INSERT INTO "Z_5TAGS" VALUES(80,13);
INSERT INTO "Z_5TAGS" VALUES(81,8);
INSERT INTO "Z_5TAGS" VALUES(81,19);
INSERT INTO "Z_5TAGS" VALUES(82,23);
INSERT INTO "Z_5TAGS" VALUES(82,27);
INSERT INTO "Z_5TAGS" VALUES(83,17);
INSERT INTO "Z_5TAGS" VALUES(83,18);
INSERT INTO "Z_5TAGS" VALUES(84,6);
INSERT INTO "Z_5TAGS" VALUES(85,16);
INSERT INTO "Z_5TAGS" VALUES(85,23);
INSERT INTO "Z_5TAGS" VALUES(85,24);
INSERT INTO "Z_5TAGS" VALUES(86,6);
INSERT INTO "Z_5TAGS" VALUES(86,51);
INSERT INTO "Z_5TAGS" VALUES(87,16);
INSERT INTO "Z_5TAGS" VALUES(88,13);
INSERT INTO "Z_5TAGS" VALUES(88,14);
INSERT INTO "Z_5TAGS" VALUES(89,7);
INSERT INTO "Z_5TAGS" VALUES(90,29);
INSERT INTO "Z_5TAGS" VALUES(90,52);
INSERT INTO "Z_5TAGS" VALUES(91,44);
INSERT INTO "Z_5TAGS" VALUES(91,48);
INSERT INTO "Z_5TAGS" VALUES(91,49);
INSERT INTO "Z_5TAGS" VALUES(92,8);
INSERT INTO "Z_5TAGS" VALUES(92,19);
INSERT INTO "Z_5TAGS" VALUES(94,13);
INSERT INTO "Z_5TAGS" VALUES(94,31);
INSERT INTO "Z_5TAGS" VALUES(95,16);
INSERT INTO "Z_5TAGS" VALUES(96,8);
INSERT INTO "Z_5TAGS" VALUES(96,19);
INSERT INTO "Z_5TAGS" VALUES(97,16);
INSERT INTO "Z_5TAGS" VALUES(97,8);
INSERT INTO "Z_5TAGS" VALUES(98,13);
INSERT INTO "Z_5TAGS" VALUES(98,47);
INSERT INTO "Z_5TAGS" VALUES(99,1);
INSERT INTO "Z_5TAGS" VALUES(99,35);
INSERT INTO "Z_5TAGS" VALUES(99,53);
INSERT INTO "Z_5TAGS" VALUES(100,23);
INSERT INTO "Z_5TAGS" VALUES(100,27);
INSERT INTO "Z_5TAGS" VALUES(100,37);
INSERT INTO "Z_5TAGS" VALUES(101,1);
INSERT INTO "Z_5TAGS" VALUES(101,54);
INSERT INTO "Z_5TAGS" VALUES(101,34);
INSERT INTO "Z_5TAGS" VALUES(102,31);
INSERT INTO "Z_5TAGS" VALUES(103,8);
INSERT INTO "Z_5TAGS" VALUES(103,36);
INSERT INTO "Z_5TAGS" VALUES(104,8);
INSERT INTO "Z_5TAGS" VALUES(104,19);
INSERT INTO "Z_5TAGS" VALUES(105,1);
INSERT INTO "Z_5TAGS" VALUES(105,55);
INSERT INTO "Z_5TAGS" VALUES(105,23);
INSERT INTO "Z_5TAGS" VALUES(105,56);
INSERT INTO "Z_5TAGS" VALUES(107,16);
INSERT INTO "Z_5TAGS" VALUES(108,1);
INSERT INTO "Z_5TAGS" VALUES(108,57);
INSERT INTO "Z_5TAGS" VALUES(108,34);
INSERT INTO "Z_5TAGS" VALUES(109,23);
INSERT INTO "Z_5TAGS" VALUES(109,56);
CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
INSERT INTO "Z_METADATA" VALUES(1,'8F5D3C0E-6A44-4D0B-9A54-3C1F7C0B7A11',X'62706C6973743030D30102030406075F101E4E5353746F72654D6F64656C56657273696F6E4964656E746966696572735B4E5353746F7265547970655F10125F4E534175746F56616375756D4C6576656CA1055956657273696F6E20375653514C6974655132080F303C51535D640000000000000101000000000000000800000000000000000000000000000066');
CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
CREATE TABLE Z_PRIMARYKEY (
  Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER
);
INSERT INTO "Z_PRIMARYKEY" VALUES(1,'SFChange',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(2,'SFChangeItem',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(3,'SFExternalChanges',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(4,'SFInternalChanges',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(5,'SFNote',0,109);
INSERT INTO "Z_PRIMARYKEY" VALUES(6,'SFNoteBackLink',0,34);
INSERT INTO "Z_PRIMARYKEY" VALUES(7,'SFNoteFile',0,12);
INSERT INTO "Z_PRIMARYKEY" VALUES(8,'SFNoteGenericFile',7,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(9,'SFNoteImage',7,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(10,'SFNoteVideo',7,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(11,'SFNoteFileServerData',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(12,'SFNoteServerData',0,0);
INSERT INTO "Z_PRIMARYKEY" VALUES(13,'SFNoteTag',0,57);
INSERT INTO "Z_PRIMARYKEY" VALUES(14,'SFPassword',0,1);
INSERT INTO "Z_PRIMARYKEY" VALUES(15,'SFServerMetadata',0,0);
CREATE INDEX ZSFCHANGEITEM_ZCHANGE_INDEX on ZSFCHANGEITEM (ZCHANGE);
CREATE INDEX ZSFNOTE_ZPASSWORD_INDEX on ZSFNOTE (ZPASSWORD);
CREATE INDEX ZSFNOTE_ZSERVERDATA_INDEX on ZSFNOTE (ZSERVERDATA);
CREATE INDEX Z_5PINNEDINTAGS_Z_13PINNEDINTAGS_INDEX
  on Z_5PINNEDINTAGS (Z_13PINNEDINTAGS, Z_5PINNEDNOTES);
CREATE INDEX Z_5TAGS_Z_13TAGS_INDEX on Z_5TAGS (Z_13TAGS, Z_5NOTES);
CREATE INDEX ZSFNOTEBACKLINK_ZLINKEDBY_INDEX on ZSFNOTEBACKLINK (ZLINKEDBY);
CREATE INDEX ZSFNOTEBACKLINK_ZLINKINGTO_INDEX on ZSFNOTEBACKLINK (ZLINKINGTO);
CREATE INDEX ZSFNOTEFILE_ZNOTE_INDEX on ZSFNOTEFILE (ZNOTE);
CREATE INDEX ZSFNOTEFILE_ZPASSWORD_INDEX on ZSFNOTEFILE (ZPASSWORD);
CREATE INDEX ZSFNOTEFILE_ZSERVERDATA_INDEX on ZSFNOTEFILE (ZSERVERDATA);
CREATE INDEX ZSFNOTEFILE_Z_ENT_INDEX on ZSFNOTEFILE (Z_ENT);
CREATE INDEX ZSFNOTEFILESERVERDATA_ZFILE_INDEX on ZSFNOTEFILESERVERDATA (ZFILE);
CREATE INDEX ZSFNOTESERVERDATA_ZNOTE_INDEX on ZSFNOTESERVERDATA (ZNOTE);
COMMIT;
