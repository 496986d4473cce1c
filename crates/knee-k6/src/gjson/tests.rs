//! Paths with what they lead to, recorded from k6 1.8.1, and what must hold for every path.

use std::thread;

use proptest::prelude::*;
use serde_json::Value;

use super::{DEPTH_MAX, get};
use crate::json;

const PEOPLE: &str = r#"{"name":{"first":"Tom","last":"Anderson"},"age":37,"children":["Sara","Alex","Jack"],"fav.movie":"Deer Hunter","friends":[{"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]},{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]},{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]}],"nothing":null,"yes":true,"no":false,"empty":[],"deep":[[1,[2]],[3,4],5],"a|b":1,"a*b":2,"":3,"\u00fc\n":"\u00e4\"q\\"}"#;
const VALUES: &str = r#"{"vals":[{"a":1,"b":"data"},{"a":2,"b":true},{"a":3,"b":false},{"a":4,"b":"0"},{"a":5,"b":0},{"a":6,"b":"1"},{"a":7,"b":1},{"a":8,"b":"true"},{"a":9,"b":false},{"a":10,"b":null},{"a":11}],"o":[{"x":1,"y":{"z":1}},{"x":2},{"y":3}],"g":{"a":[1,2,3],"b":["x","y"],"c":5},"s":"{\"id\":1023,\"list\":[1,2]}","n":[1,2.5,-3,1e3],"m":[[1,2],[3,4,[5]]],"d":{"d":{"d":1,"id":7},"id":8}}"#;
const ARRAY: &str = r#"[ {"a":1}, {"a":2,"b":[{"c":1},{"c":2}]}, "text", 5, null, true, [1,2,3] ]"#;
const TWICE: &str = r#"{"a":1,"a":{"b":2},"ab":{"b":3},"a.b":{"c|d":{"e":4}},"x*":5,"xy":6}"#;

/// A text, and paths with what they lead to.
type Recorded = (&'static str, &'static [(&'static str, &'static str)]);

const RECORDED: &[Recorded] = &[
    (
        PEOPLE,
        &[
            ("name.last", r#""Anderson""#),
            ("name.first", r#""Tom""#),
            ("age", "37"),
            ("children", r#"["Sara","Alex","Jack"]"#),
            ("children.0", r#""Sara""#),
            ("children.1", r#""Alex""#),
            ("children.9", "undefined"),
            ("children.-1", "undefined"),
            ("children.x", "undefined"),
            ("friends.1", r#"{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]}"#),
            ("friends.1.first", r#""Roger""#),
            ("child*.2", r#""Jack""#),
            ("c?ildren.0", r#""Sara""#),
            (r"fav\.movie", r#""Deer Hunter""#),
            ("friends.#", "3"),
            ("friends.#.age", "[44,68,47]"),
            ("friends.#.first", r#"["Dale","Roger","Jane"]"#),
            ("friends.#.nope", "[]"),
            ("friends.#.nets.0", r#"["ig","fb","ig"]"#),
            ("friends.#.nets.#", "[3,2,2]"),
            (r#"friends.#(last=="Murphy").first"#, r#""Dale""#),
            (r#"friends.#(last=="Murphy")#.first"#, r#"["Dale","Jane"]"#),
            (r#"friends.#(last="Murphy")#.first"#, r#"["Dale","Jane"]"#),
            ("friends.#(age>45)#.last", r#"["Craig","Murphy"]"#),
            ("friends.#(age>=47)#.last", r#"["Craig","Murphy"]"#),
            ("friends.#(age<45).last", r#""Murphy""#),
            ("friends.#(age<=47)#.first", r#"["Dale","Jane"]"#),
            ("friends.#(age!=47)#.first", r#"["Dale","Roger"]"#),
            (r#"friends.#(first%"D*").last"#, r#""Murphy""#),
            (r#"friends.#(first!%"D*").last"#, r#""Craig""#),
            (r#"children.#(!%"*a*")"#, r#""Alex""#),
            (r#"children.#(%"*a*")#"#, r#"["Sara","Jack"]"#),
            (r#"friends.#(nets.#(=="fb"))#.first"#, r#"["Dale","Roger"]"#),
            (r#"friends.#(nets.#(=="zz"))#.first"#, "[]"),
            ("friends.#(nope)#", "[]"),
            ("friends.#(nets)#.first", r#"["Dale","Roger","Jane"]"#),
            ("friends|0|first", r#""Dale""#),
            ("friends.0|first", r#""Dale""#),
            ("friends|0.first", r#""Dale""#),
            ("friends|#", "3"),
            (
                r#"friends.#(last="Murphy")#"#,
                r#"[{"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]},{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]}]"#,
            ),
            (r#"friends.#(last="Murphy")#|first"#, "undefined"),
            (r#"friends.#(last="Murphy")#.0"#, "[]"),
            (
                r#"friends.#(last="Murphy")#|0"#,
                r#"{"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]}"#,
            ),
            (r#"friends.#(last="Murphy")#.#"#, "[]"),
            (r#"friends.#(last="Murphy")#|#"#, "2"),
            (r#"friends.#(last="Nobody")"#, "undefined"),
            (r#"friends.#(last="Nobody")#"#, "[]"),
            (r#"friends.#(last="Nobody")#|#"#, "0"),
            (r#"friends.#(last="Nobody")#.first|x"#, "[]"),
            (r#"friends.#[last="Murphy"].first"#, r#""Dale""#),
            ("children.@reverse", r#"["Jack","Alex","Sara"]"#),
            ("children.@reverse.0", r#""Jack""#),
            ("children|@reverse|0", r#""Jack""#),
            ("name.@reverse", r#"{"last":"Anderson","first":"Tom"}"#),
            (
                "@this",
                r#"{"friends":[{"age":44,"nets":["ig","fb","tw"],"first":"Dale","last":"Murphy"},{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]},{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]}],"nothing":null,"yes":true,"no":false,"deep":[[1,[2]],[3,4],5],"fav.movie":"Deer Hunter","empty":[],"a|b":1,"a*b":2,"":3,"ü\n":"ä\"q\\","name":{"first":"Tom","last":"Anderson"},"age":37,"children":["Sara","Alex","Jack"]}"#,
            ),
            ("@this.name", r#"{"first":"Tom","last":"Anderson"}"#),
            ("name|@this", r#"{"first":"Tom","last":"Anderson"}"#),
            ("@this|name|first", r#""Tom""#),
            ("nothing", "null"),
            ("nothing.x", "undefined"),
            ("yes", "true"),
            ("no", "false"),
            ("empty", "[]"),
            ("empty.#", "0"),
            ("empty.0", "undefined"),
            ("empty.#.x", "[]"),
            ("empty.#(x=1)#", "[]"),
            ("missing", "undefined"),
            ("missing.deeper", "undefined"),
            ("missing|@this", "undefined"),
            ("missing|@keys", "[]"),
            ("missing|@valid", "undefined"),
            ("missing|@tostr", r#""""#),
            ("missing|!true", "true"),
            ("name.@keys", r#"["first","last"]"#),
            ("name|@keys", r#"["first","last"]"#),
            ("name.@values", r#"["Tom","Anderson"]"#),
            ("name.@keys.#", "2"),
            ("children.@keys", "[null,null,null]"),
            ("age.@keys", "[null]"),
            ("age|@values", "[37]"),
            ("children.@values", r#"["Sara","Alex","Jack"]"#),
            ("deep.@flatten", "[1,[2],3,4,5]"),
            (r#"deep.@flatten:{"deep":true}"#, "[1,2,3,4,5]"),
            ("deep|@flatten|#", "5"),
            ("friends.@join", r#"{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]}"#),
            ("friends.@join.first", r#""Jane""#),
            ("name.@tostr", r#""{\"first\":\"Tom\",\"last\":\"Anderson\"}""#),
            ("name.@tostr.@fromstr", r#"{"first":"Tom","last":"Anderson"}"#),
            ("name.@tostr|@fromstr|first", r#""Tom""#),
            ("children.@tostr", r#""[\"Sara\",\"Alex\",\"Jack\"]""#),
            ("age.@tostr", r#""37""#),
            ("children.0.@tostr", r#""\"Sara\"""#),
            ("name.@pretty", r#"{"first":"Tom","last":"Anderson"}"#),
            ("name.@ugly", r#"{"first":"Tom","last":"Anderson"}"#),
            (r#"name.@pretty:{"sortKeys":true}"#, r#"{"first":"Tom","last":"Anderson"}"#),
            ("@valid.age", "37"),
            ("name.@valid", r#"{"last":"Anderson","first":"Tom"}"#),
            ("name.@nope", "undefined"),
            ("name.@nope.first", "undefined"),
            ("name.@this:arg.first", r#"{"first":"Tom","last":"Anderson"}"#),
            ("name.@this:arg|first", r#""Tom""#),
            ("{name.first,age}", r#"{"first":"Tom","age":37}"#),
            (
                r#"{name.first,age,"the_murphys":friends.#(last="Murphy")#.first}"#,
                r#"{"first":"Tom","age":37,"the_murphys":["Dale","Jane"]}"#,
            ),
            ("{first:name.first,x:missing,age}", r#"{"first":"Tom","age":37}"#),
            ("[name.first,age]", r#"["Tom",37]"#),
            ("[name.first,age,missing]", r#"["Tom",37]"#),
            ("[name.first,age].0", r#""Tom""#),
            ("[name.first,age]|#", "2"),
            ("{name.first,age}.age", "37"),
            (r#"{"a b":age}.a b"#, "37"),
            ("name.{first,last}", r#"{"last":"Anderson","first":"Tom"}"#),
            ("name.[first,last]", r#"["Tom","Anderson"]"#),
            (
                "friends.#.{first,age}",
                r#"[{"first":"Dale","age":44},{"first":"Roger","age":68},{"first":"Jane","age":47}]"#,
            ),
            ("friends.#.[first,age].0", r#"["Dale","Roger","Jane"]"#),
            (
                "friends.#.{first,age}|@reverse",
                r#"[{"first":"Jane","age":47},{"first":"Roger","age":68},{"first":"Dale","age":44}]"#,
            ),
            ("friends.{#}", r#"{"_":3}"#),
            ("{friends.#}", r#"{"_":3}"#),
            ("[friends.#.age,!1]", "[[44,68,47],1]"),
            (
                r#"{name.first,age,"company":!"Happysoft","employed":!true}"#,
                r#"{"employed":true,"first":"Tom","age":37,"company":"Happysoft"}"#,
            ),
            (r#"!"lit""#, r#""lit""#),
            ("!1", "1"),
            ("!1.5", "1.5"),
            ("!true", "true"),
            ("!null", "null"),
            (r#"!{"a":1}"#, r#"{"a":1}"#),
            (r#"!{"a":1}.a"#, "1"),
            ("![1,2].1", "2"),
            ("!nope", "undefined"),
            (r"a\|b", "1"),
            ("a|b", "undefined"),
            (r"a\*b", "2"),
            ("a*b", "1"),
            ("a?b", "1"),
            ("a*", "37"),
            ("*", r#"{"first":"Tom","last":"Anderson"}"#),
            ("?", "undefined"),
            ("n*.last", r#""Anderson""#),
            ("*.last", r#""Anderson""#),
            ("", "3"),
            (".", "undefined"),
            ("..", "undefined"),
            (
                "..0",
                r#"{"age":37,"children":["Sara","Alex","Jack"],"friends":[{"age":44,"nets":["ig","fb","tw"],"first":"Dale","last":"Murphy"},{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]},{"last":"Murphy","age":47,"nets":["ig","tw"],"first":"Jane"}],"a*b":2,"":3,"ü\n":"ä\"q\\","fav.movie":"Deer Hunter","nothing":null,"yes":true,"no":false,"empty":[],"deep":[[1,[2]],[3,4],5],"a|b":1,"name":{"last":"Anderson","first":"Tom"}}"#,
            ),
            ("..#", "1"),
            ("..#.age", "[37]"),
            ("name.", "undefined"),
            ("name..first", "undefined"),
            (".name", "undefined"),
            ("ü*", r#""ä\"q\\""#),
            ("ü\n", r#""ä\"q\\""#),
            ("name.first.x", "undefined"),
            ("age.x", "undefined"),
            ("friends.first", "undefined"),
            ("friends.#.", "[]"),
            ("friends.#x", "undefined"),
            ("friends.##", "undefined"),
            (r#"friends.#.nets.#(=="fb")"#, r#"["fb","fb"]"#),
            (r#"friends.#.nets.#(%"*b")#"#, r#"[["fb"],["fb"],[]]"#),
            ("friends.#(", "undefined"),
            ("friends.#(last", "undefined"),
            ("friends.#()", "undefined"),
            ("friends.#()#", "[]"),
            ("friends.#(age", "undefined"),
            (r#"friends.#(age=="47").first"#, r#""Jane""#),
            (r#"friends.#(age>"x")#.first"#, r#"["Dale","Roger","Jane"]"#),
            (r#"friends.#(!="x")"#, "undefined"),
            (r#"children.#(="Sara")"#, r#""Sara""#),
            (r#"children.#(>"B")#"#, r#"["Sara","Jack"]"#),
            (r#"children.#(!="Sara")#"#, r#"["Alex","Jack"]"#),
            (r#"children.#(<"B")"#, r#""Alex""#),
            (r#"friends.#(first="Dale").nets|0"#, r#""ig""#),
            (r#"friends.#(first="Dale")|nets.0"#, r#""ig""#),
            (r#"friends.#(first="Dale")#.nets|0"#, r#"["ig","fb","tw"]"#),
            ("friends.#.nets|0", r#"["ig","fb","tw"]"#),
            ("friends.#.nets.@flatten", r#"[["ig","fb","tw"],["fb","tw"],["ig","tw"]]"#),
            ("friends.#.nets|@flatten", r#"["ig","fb","tw","fb","tw","ig","tw"]"#),
            ("friends.#.nets.@reverse", r#"[["tw","fb","ig"],["tw","fb"],["tw","ig"]]"#),
            ("friends.01.first", r#""Roger""#),
            ("friends.1a", "undefined"),
            ("children.#.@tostr", r#"["\"Sara\"","\"Alex\"","\"Jack\""]"#),
            ("children.#.#", "[]"),
            ("children.#.0", "[]"),
            ("fav.movie", "undefined"),
            ("[age", "3"),
            ("{age", "3"),
            ("{age}x", "undefined"),
            (
                "[@this.age,@keys]",
                r#"[37,["name","age","children","fav.movie","friends","nothing","yes","no","empty","deep","a|b","a*b","","ü\n"]]"#,
            ),
            ("name|{first}|first", r#""Tom""#),
            (
                "@keys",
                r#"["name","age","children","fav.movie","friends","nothing","yes","no","empty","deep","a|b","a*b","","ü\n"]"#,
            ),
            ("@keys.0", r#""name""#),
            ("@dig:first", r#"["Tom","Dale","Roger","Jane"]"#),
            ("@dig:#(age>45).first", r#"["Roger"]"#),
            (
                "@group",
                r#"[{"children":"Sara","friends":{"nets":["ig","fb","tw"],"first":"Dale","last":"Murphy","age":44},"deep":[1,[2]]},{"children":"Alex","friends":{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]},"deep":[3,4]},{"children":"Jack","friends":{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]},"deep":5}]"#,
            ),
            (
                "@pretty",
                r#"{"fav.movie":"Deer Hunter","friends":[{"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]},{"first":"Roger","last":"Craig","age":68,"nets":["fb","tw"]},{"first":"Jane","last":"Murphy","age":47,"nets":["ig","tw"]}],"nothing":null,"no":false,"empty":[],"deep":[[1,[2]],[3,4],5],"a|b":1,"a*b":2,"name":{"first":"Tom","last":"Anderson"},"age":37,"children":["Sara","Alex","Jack"],"yes":true,"":3,"ü\n":"ä\"q\\"}"#,
            ),
            ("@ugly.name", r#"{"first":"Tom","last":"Anderson"}"#),
            ("@reverse.name", r#"{"first":"Tom","last":"Anderson"}"#),
            ("@THIS", "undefined"),
            ("@", "undefined"),
            ("!", "undefined"),
            ("#", "undefined"),
            ("#.x", "undefined"),
            ("age|#", "undefined"),
            ("name.#", "undefined"),
            (r#"friends.#(nets.0="ig")#.first"#, r#"["Dale","Jane"]"#),
            ("friends.#(nets.#=3).first", r#""Dale""#),
            ("friends.#(name.first)", "undefined"),
            (r#"friends.#(last == "Murphy" )#.first"#, r#"["Dale","Jane"]"#),
            ("friends.#(last='Murphy')", "undefined"),
            ("friends.#(last=Murphy).first", r#""Dale""#),
            (r#"friends.#(last=="Mur*").first"#, "undefined"),
            (r#"friends.#(last%"Mur*")#|#"#, "2"),
            (r#"friends.#(first=="Dale")#.{first,n:nets.#}"#, r#"[{"first":"Dale","n":3}]"#),
            ("friends.@values.0.first", r#""Dale""#),
            ("yes.@tostr", r#""true""#),
            ("friends.#(age==44).first.@tostr", r#""\"Dale\"""#),
            ("nothing|@tostr", r#""null""#),
            ("nothing|@keys", "[null]"),
            ("friends.#.age|@reverse|0", "47"),
            ("friends.#.age.@this", "[44,68,47]"),
            (r#"[!"a\"b",!"c"]"#, r#"["a\"b","c"]"#),
            (r#"{"x":!{"y":[1,{"z":2}]}}.x.y.1.z"#, "2"),
        ],
    ),
    (
        VALUES,
        &[
            ("vals.#(b==~true)#.a", "[2,6,7,8]"),
            ("vals.#(b==~false)#.a", "[3,4,5,9,10,11]"),
            ("vals.#(b==~null)#.a", "[10,11]"),
            ("vals.#(b==~*)#.a", "[1,2,3,4,5,6,7,8,9,10]"),
            ("vals.#(b!=~*)#.a", "[11]"),
            ("vals.#(b!=~true)#.a", "[1,3,4,5,9,10,11]"),
            ("vals.#(b==~nope)#.a", "[]"),
            ("vals.#(b>~false)#.a", "[]"),
            ("vals.#(b==true)#.a", "[2,5,8]"),
            ("vals.#(b==false)#.a", "[3,5,9]"),
            ("vals.#(b==null)#.a", "[5]"),
            ("vals.#(b!=true)#.a", "[1,3,4,6,7,9]"),
            ("vals.#(b>=false)#.a", "[2,5,7,8]"),
            ("vals.#(b<true)#.a", "[1,3,4,6,9]"),
            ("vals.#(b==1)#.a", "[6,7]"),
            (r#"vals.#(b=="1")#.a"#, "[6,7]"),
            ("vals.#(a>3)#|#", "8"),
            ("o.#(y.z==1).x", "1"),
            ("o.#(y)#.x", "[1]"),
            ("o.#.y", r#"[{"z":1},3]"#),
            ("o.#.y.z", "[1]"),
            ("g.@group", r#"[{"a":1,"b":"x"},{"a":2,"b":"y"},{"a":3}]"#),
            ("g|@group|0", r#"{"a":1,"b":"x"}"#),
            ("g.@group.#", "3"),
            ("s.@fromstr", r#"{"id":1023,"list":[1,2]}"#),
            ("s.@fromstr.id", "1023"),
            ("s|@fromstr|list|1", "2"),
            ("s.@fromstr.@tostr", r#""{\"id\":1023,\"list\":[1,2]}""#),
            ("n.#(>2)#", "[2.5,1000]"),
            ("n.#(<0)", "-3"),
            ("n.#(==1000)", "1000"),
            ("n.#(==1e3)", "1000"),
            ("n.#(!=1)#", "[2.5,-3,1000]"),
            ("n.1", "2.5"),
            ("n.3", "1000"),
            ("m.#.#", "[2,3]"),
            ("m.#.0", "[1,3]"),
            ("m.#.2.0", "[5]"),
            ("m.@flatten", "[1,2,3,4,[5]]"),
            (r#"m.@flatten:{"deep":true}"#, "[1,2,3,4,5]"),
            ("m.1.2.0", "5"),
            ("m.#(#>2)", "[3,4,[5]]"),
            ("m.#(#>2)#", "[[3,4,[5]]]"),
            ("m.#(0>1)", "[3,4,[5]]"),
            ("m.#(0>1)#.1", "[4]"),
            ("@dig:id", "[8,7]"),
            ("d.@dig:id", "[8,7]"),
            ("d.@dig:d", r#"[{"d":1,"id":7},1]"#),
            ("d.d.d", "1"),
            ("vals.0.b", r#""data""#),
            ("vals.#.b", r#"["data",true,false,"0",0,"1",1,"true",false,null]"#),
            ("vals.#.b.x", "[]"),
            ("vals.10.b", "undefined"),
            (r#"{"x":n.#,"y":m.#}"#, r#"{"x":4,"y":2}"#),
            ("[n.#(>1)#,m.#.0]", "[[2.5,1000],[1,3]]"),
            (r#"vals.#(a=1|b="data")"#, "undefined"),
            ("vals.#.a|@reverse", "[11,10,9,8,7,6,5,4,3,2,1]"),
            ("vals.#(a>9)#.a", "[10,11]"),
            ("vals.#(a>9)#.@values", "[[10,null],[11]]"),
            ("vals.#(a>9)#|@join", r#"{"a":11,"b":null}"#),
            ("vals.#(a<3)#.{a}", r#"[{"a":1},{"a":2}]"#),
            ("o.@join", r#"{"x":2,"y":3}"#),
            ("o|@join|x", "2"),
            (r#"o.@join:{"preserve":true}.x"#, "1"),
            ("g.{a,b}", r#"{"a":[1,2,3],"b":["x","y"]}"#),
            ("g.@values.0.1", "2"),
            ("g.*", "[1,2,3]"),
            ("g.?", "[1,2,3]"),
            ("g.?.1", "2"),
        ],
    ),
    (
        ARRAY,
        &[
            ("0.a", "1"),
            ("0", r#"{"a":1}"#),
            ("1.b.#.c", "[1,2]"),
            ("1.b.1.c", "2"),
            ("#", "7"),
            ("#.a", "[1,2]"),
            ("#.b.#.c", "[[1,2]]"),
            ("#.b.#", "[2]"),
            ("2", r#""text""#),
            ("3", "5"),
            ("4", "null"),
            ("5", "true"),
            ("6", "[1,2,3]"),
            ("6.#", "3"),
            ("6.1", "2"),
            ("#(a==2)", r#"{"a":2,"b":[{"c":1},{"c":2}]}"#),
            ("#(a==2).b.#(c>1).c", "2"),
            ("#(a)#", r#"[{"a":1},{"a":2,"b":[{"c":1},{"c":2}]}]"#),
            ("#(==5)", "5"),
            (r#"#(=="text")"#, r#""text""#),
            (r#"#(%"te*")"#, r#""text""#),
            ("#(==null)", "undefined"),
            ("#(==true)", "true"),
            ("#(>1)#", r#"["text",5]"#),
            ("#(#>2)", "[1,2,3]"),
            ("@reverse.0.0", "1"),
            ("@reverse", r#"[[1,2,3],true,null,5,"text",{"a":2,"b":[{"c":1},{"c":2}]},{"a":1}]"#),
            ("@flatten.#", "9"),
            ("7", "undefined"),
            ("-1", "undefined"),
            ("a", "undefined"),
            ("@this.0.a", "1"),
            ("@this|0|a", "1"),
            ("[0.a,1.a]", "[1,2]"),
            ("{0.a}", r#"{"a":1}"#),
            (r#"{"q":0.a,2}"#, r#"{"2":"text","q":1}"#),
            ("..0", r#"[{"a":1},{"a":2,"b":[{"c":1},{"c":2}]},"text",5,null,true,[1,2,3]]"#),
            ("..0.0.a", "1"),
            ("..#", "1"),
            ("..1", "undefined"),
            ("@values.0.a", "1"),
            ("@keys", "[null,null,null,null,null,null,null]"),
            ("@join", r#"{"a":2,"b":[{"c":1},{"c":2}]}"#),
            ("@valid.0", r#"{"a":1}"#),
            ("{#.a}", r#"{"a":[1,2]}"#),
            ("*", "undefined"),
            ("0.*", "1"),
            ("1.*.0", r#"{"c":1}"#),
            ("#.@this", r#"[{"a":1},{"a":2,"b":[{"c":1},{"c":2}]},"text",5,null,true,[1,2,3]]"#),
            ("#.@keys", r#"[["a"],["a","b"],[null],[null],[null],[null],[null,null,null]]"#),
            ("#.@tostr.#", "[3]"),
            ("#()", r#""text""#),
        ],
    ),
    (
        TWICE,
        &[
            ("a", "1"),
            ("a.b", "2"),
            ("*.b", "2"),
            ("a*.b", "2"),
            (r"a\.b", r#"{"c|d":{"e":4}}"#),
            (r"a\.b.c\|d", r#"{"e":4}"#),
            (r"a\.b.c\|d.e", "4"),
            (r"x\*", "5"),
            ("x*", "5"),
            ("x?", "5"),
            (r"x\?", "undefined"),
            (r"a\.*.c*.e", "4"),
            (r"\a", "1"),
            (r"ab\", r#"{"b":3}"#),
            ("a.b.c", "undefined"),
            ("*b.b", "3"),
        ],
    ),
    (
        r#""text""#,
        &[
            ("a", "undefined"),
            ("@this", r#""text""#),
            ("@tostr", r#""\"text\"""#),
            ("#", "undefined"),
            ("0", "undefined"),
            ("@keys", "[null]"),
            ("@valid", r#""text""#),
            ("..0", r#""text""#),
            ("..#", "1"),
            ("[@this]", r#"["text"]"#),
            ("{@this}", r#"{"@this":"text"}"#),
            (r#"{"a":@this}"#, r#"{"a":"text"}"#),
            ("!1", "1"),
            ("@reverse", r#""text""#),
            ("@fromstr", "true"),
        ],
    ),
    (
        r#""[1,2]""#,
        &[("@fromstr", "[1,2]"), ("@fromstr.0", "1"), ("@fromstr|#", "2"), ("0", "1"), ("#", "2")],
    ),
    (
        "12",
        &[
            ("a", "undefined"),
            ("@this", "12"),
            ("@tostr", r#""12""#),
            ("@keys", "[null]"),
            ("@values", "[12]"),
            ("[@this,@this]", "[12,12]"),
        ],
    ),
    (
        "null",
        &[
            ("@this", "null"),
            ("a", "undefined"),
            ("@keys", "[null]"),
            ("@values", "[null]"),
            ("@tostr", r#""null""#),
            ("[@this]", "[null]"),
        ],
    ),
    ("true", &[("@this", "true"), ("@fromstr", "true"), ("@tostr", r#""true""#)]),
    (
        r#"  {"a" : [ 1 , 2 ] } "#,
        &[
            ("a", "[1,2]"),
            ("a.1", "2"),
            ("a.#", "2"),
            ("@this", r#"{"a":[1,2]}"#),
            ("@ugly", r#"{"a":[1,2]}"#),
            ("@ugly.@tostr", r#""{\"a\":[1,2]}""#),
            ("a.@tostr", r#""[ 1 , 2 ]""#),
            ("a|@reverse|@tostr", r#""[2,1]""#),
            ("@values", "[[1,2]]"),
        ],
    ),
    ("{bad", &[("a", "undefined"), ("@this", "undefined"), ("!1", "undefined")]),
    (
        r#"{"u":"\u00e9\ud83d\ude00x","k\u00e9":1,"<&>":"<&>"}"#,
        &[
            ("u", "\"é😀x\""),
            ("ké", "1"),
            ("k*", "1"),
            ("@keys", r#"["u","ké","<&>"]"#),
            ("u.@tostr", r#""\"\\u00e9\\ud83d\\ude00x\"""#),
            ("@tostr", r#""{\"u\":\"\\u00e9\\ud83d\\ude00x\",\"k\\u00e9\":1,\"<&>\":\"<&>\"}""#),
            ("<&>", r#""<&>""#),
            ("{<&>}", r#"{"<&>":"<&>"}"#),
            ("[<&>.@tostr]", r#"["\"<&>\""]"#),
            ("k?", "1"),
        ],
    ),
];

/// JSON with all numbers as those of JavaScript.
fn read(json: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(json).ok()?;
    Some(match value {
        Value::Number(number) => number.as_f64()?.into(),
        Value::Array(list) => list.iter().map(|value| read(&value.to_string())).collect::<Option<_>>()?,
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| Some((key.clone(), read(&value.to_string())?)))
            .collect::<Option<_>>()?,
        other => other,
    })
}

/// The value a path leads to, as `response.json(path)` gives it.
fn found(text: &str, path: &str) -> Option<Value> {
    if !json::is_valid(text) {
        return None;
    }
    let shown = get(text, path)?;
    Some(read(&shown).unwrap_or_else(|| Value::from(format!("not JSON: {shown}"))))
}

#[test]
fn every_path_leads_where_it_leads_under_k6() {
    let mut wrong = Vec::new();
    for (text, paths) in RECORDED {
        for (path, recorded) in *paths {
            let expected: Option<Value> = (*recorded != "undefined").then(|| read(recorded).unwrap());
            let found = found(text, path);
            if found != expected {
                wrong.push(format!("{text:.20} {path}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_order_of_keys_is_kept() {
    assert_eq!(get(r#"{"z":{"b":1,"a":2}}"#, "z").unwrap(), r#"{"b":1,"a":2}"#);
    assert_eq!(get(r#"{"b":1,"a":2}"#, "@pretty:{\"sortKeys\":true}").unwrap(), r#"{"a":2,"b":1}"#);
}

#[test]
fn depth_without_end_leads_nowhere_on_a_small_stack() {
    let run = || {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(get(&deep, &"0.".repeat(50_000)), None);
        assert_eq!(get(&deep, "@dig:x").unwrap(), "[]");
        assert!(get(&deep, "@flatten:{\"deep\":true}").is_some());
        assert!(get(&deep, "@pretty:{\"sortKeys\":true}").is_some());
        assert_eq!(get("{}", &"[".repeat(100_000)), None);
        assert_eq!(get("[[1]]", &"#(".repeat(100_000)), None);
        let within = "[".repeat(100_000) + &"]".repeat(100_000);
        get("{}", &within);
        let nested = "#(#".repeat(10_000) + &")".repeat(10_000);
        get("[[1]]", &nested);
        assert!(get("[]", &"@this|".repeat(DEPTH_MAX * 2)).is_none());
    };
    // Less than the part of a VU's stack that scripts leave to the functions they call.
    thread::Builder::new().stack_size(120 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_result_that_grows_without_end_leads_nowhere() {
    let path = "[@this,@this]|".repeat(60) + "@this";
    assert_eq!(get("[1,2,3]", &path), None);
    assert_eq!(get("[1,2,3]", &("@tostr|".repeat(60) + "@this")), None);
}

proptest! {
    #[test]
    fn any_path_in_any_text_gives_something_or_nothing(text: String, path: String) {
        get(&text, &path);
    }

    #[test]
    fn what_looks_like_a_path_gives_something_or_nothing(
        text in r#"[\[\]{}:,"\\ 0-9ab\u{e9}]{0,24}"#,
        path in r#"[ab0-9.|#()\[\]{}@:!"\\*?%=<>~,\u{e9}]{0,24}"#,
    ) {
        get(&text, &path);
    }

    // `@tostr` is left out: gjson looks for braces in the text that it makes, and so do we.
    #[test]
    fn a_path_in_valid_json_leads_to_valid_json(
        path in r"(a|b|0|1|#|\*|\.|\||#\(a=1\)|#\(>0\)#|@this|@keys|@values|@flatten|@reverse|\{a,b\}|\[a,0\]){1,6}",
    ) {
        for text in [PEOPLE, r#"{"a":[{"a":1,"b":[1,2]},{"a":2}],"b":{"a":1}}"#, r#"[[1,[2]],{"a":1}]"#] {
            if let Some(found) = get(text, &path) {
                prop_assert!(json::is_valid(&found), "{} gave {}", path, found);
            }
        }
    }
}
