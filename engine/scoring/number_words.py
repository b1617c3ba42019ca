"""The words around numbers, by language: the tables of :mod:`numbers`.

See :mod:`word_tables` for how entries are written. English has its own patterns.
"""

from __future__ import annotations

LENIENT = "number-lenient/8"
"""The parser in :mod:`numbers`. Import that when a reply is read, not before: its patterns take a
twentieth of a second to compile."""

DOUBT = {
    "de": "mindestens höchstens maximal minimal mehr_als weniger_als über unter fast knapp"
    " beinahe nahezu bis_zu nicht kein- zwischen oder vielleicht möglicherweise wenn könnte"
    " könnten falsch weder falls statt anstatt wahrscheinlich vermutlich wohl",
    "fr": "au_moins au_plus au_maximum au_minimum plus_de plus_d' plus_d’ moins_de moins_d'"
    " moins_d’ presque pas entre ou peut-être pourrait pourraient jusqu'à jusqu’à incorrect-"
    " faux ni sauf si_l'on probablement sans_doute",
    "es": "al_menos por_lo_menos como_mínimo como_máximo a_lo_sumo a_lo_más a_lo_menos al_máximo"
    " más_de menos_de casi no_es no_son no_hay hasta quizá quizás tal_vez podría podrían"
    " incorrect- ni salvo si_se probablemente seguramente",
    "it": "almeno al_massimo più_di meno_di quasi non fino_a forse oppure potrebbe potrebbero"
    " sbagliat- né tranne probabilmente",
    "pt": "pelo_menos no_máximo no_mínimo mais_de menos_de quase não até talvez poderia poderiam"
    " errad- nem exceto provavelmente",
    "nl": "minstens hoogstens meer_dan minder_dan niet bijna misschien zou zouden fout geen"
    " ten_minste maximaal waarschijnlijk",
    "sv": "minst högst mer_än mindre_än inte eller kanske kunde nästan ingen inget troligen"
    " förmodligen",
    "da": "mindst højst mere_end mindre_end ikke måske næsten ingen eller sandsynligvis",
    "no": "kanskje nesten",
    "pl": "co_najmniej najwyżej ponad prawie nie lub może albo mniej_niż więcej_niż błędn-"
    " prawdopodobnie chyba",
    "cs": "alespoň nejméně nejvýše více_než méně_než téměř není nejsou nebo možná ne asi"
    " pravděpodobně",
    "ro": "cel_puțin cel_mult mai_mult_de mai_puțin_de aproape nu sau poate probabil",
    "hu": "legalább legfeljebb több_mint kevesebb_mint majdnem nem vagy talán valószínűleg",
    "fi": "vähintään enintään yli alle melkein ei tai ehkä luultavasti",
    "tr": "en_az en_fazla veya değil- belki neredeyse ya_da yanlış- yok muhtemelen galiba",
    "id": "paling_sedikit paling_banyak maksimal minimal kurang_dari lebih_dari atau bukan tidak"
    " mungkin hampir setidaknya barangkali",
    "vi": "ít_nhất nhiều_nhất hơn gần không_phải hoặc không có_thể tối_đa tối_thiểu gần_như"
    " có_lẽ chắc",
    "ru": "менее более меньше больше почти минимум максимум не или возможно до может нет неверно"
    " неправильно неверный вероятно наверное",
    "uk": "менше більше майже щонайменше не або можливо до може немає щонайбільше ймовірно мабуть",
    "el": "τουλάχιστον το_πολύ πάνω_από κάτω_από σχεδόν δεν ή ίσως όχι πιθανώς μάλλον",
    "ar": "على_الأقل أكثر_من أقل_من ليس أو ربما لا لم تقريبا_أقل ليست غير حتى قد لعل",
    "fa": "حداقل حداکثر بیش_از کمتر_از نیست یا شاید نه تقریباً احتمالا احتمالاً",
    "he": "לפחות לכל_היותר יותר_מ- פחות_מ- לא אינו אינה או אולי כמעט כנראה",
    "hi": "कम_से_कम अधिकतम नहीं या शायद से_अधिक से_ज़्यादा से_ज्यादा से_कम न गलत संभवतः",
    "bn": "কমপক্ষে সর্বোচ্চ নয় না অথবা বা হয়তো প্রায়",
    "th": "อย่างน้อย ไม่ มากกว่า น้อยกว่า หรือ บางที อาจ เกือบ ผิด น่าจะ คงจะ",
    "te": "కనీసం కాదు లేదు లేదా గరిష్టంగా దాదాపు",
    "ta": "குறைந்தது இல்லை அல்லது",
    "sw": "angalau si sio au labda siyo hana karibu",
    "ja": "少なくとも 多くとも 最大 最低でも 最低で ほぼ ではな ではあ じゃな または かもしれ"
    " 以上 以下 未満 以内 超え ません ない なかった たぶん 多分 おそらく でしょう だろう と思"
    " 間違 恐らく",
    "ko": "최소 최대 적어도 많아야 거의 또는 아니 아닙 아닌 이상 이하 미만 초과 넘 아마 같습니다"
    " 같아 겠 않 없 못 모르 틀",
    "zh": "至少 最多 超过 超過 不到 少于 少於 多于 多於 将近 將近 接近 不超过 不是 可能 也许 或"
    " 不足 大概 恐怕 未必 并非 並非 无法 無法 错 錯 不对 不對 以上 以下 没有 沒有",
}
"""Bounds, denials, alternatives and doubts: what comes with them is not certain."""

SO = {
    "de": "daher somit folglich deshalb demnach",
    "fr": "donc par_conséquent",
    "es": "así_que por_lo_tanto por_tanto entonces por_ello por_eso por_consiguiente",
    "it": "quindi dunque perciò pertanto di_conseguenza",
    "pt": "portanto então assim logo por_isso",
    "nl": "dus daarom",
    "sv": "alltså därför",
    "pl": "więc zatem dlatego czyli",
    "ru": "значит следовательно поэтому итак таким_образом",
    "uk": "отже таким_чином",
    "el": "άρα επομένως",
    "tr": "dolayısıyla bu_nedenle o_halde",
    "vi": "vậy do_đó vì_vậy như_vậy",
    "id": "jadi oleh_karena_itu maka",
    "ar": "إذن لذلك لذا وبالتالي وعليه",
    "hi": "अतः इसलिए इस_प्रकार",
    "th": "ดังนั้น",
    "ja": "ので、 だから したがって よって ゆえに 以上より",
    "ko": "따라서 그래서 그러므로 이므로",
    "zh": "所以 因此 因而 综上 由此",
    "da": "altså derfor",
    "cs": "tedy takže proto",
    "ro": "deci așadar prin_urmare",
    "hu": "tehát",
    "fi": "siis joten",
    "he": "לכן",
    "fa": "بنابراین پس",
    "bn": "সুতরাং তাই অতএব তাহলে",
    "te": "కాబట్టి",
    "sw": "kwa_hivyo kwa_hiyo",
}

CONCLUDES = {
    "de": "insgesamt zusammen somit also:",
    "fr": "au_total en_tout",
    "es": "en_total",
    "it": "in_totale in_tutto",
    "pt": "no_total ao_todo",
    "nl": "in_totaal totaal",
    "sv": "totalt sammanlagt",
    "pl": "razem łącznie",
    "tr": "toplam sonuç_olarak",
    "vi": "tổng_cộng",
    "ru": "всего итого",
    "uk": "всього разом",
    "cs": "celkem dohromady",
    "id": "total",
    "hi": "कुल",
    "ar": "المجموع إجمالي",
    "th": "รวม ทั้งหมด",
    "ja": "合計 全部で 結果",
    "ko": "합계 모두 결과 총",
    "zh": "一共 总共 總共 共计 共 合計 结果 結果 答:",
}
"""In total, together: what the last sentence of a reply says."""

CHECKS = {
    "de": "probe kontrolle überprüfung prüfung gegenprobe zur_probe zur_kontrolle",
    "fr": "vérification vérifions on_vérifie contrôle preuve",
    "es": "comprobación comprobemos verificación verifiquemos verificamos comprobamos",
    "it": "verifica verifichiamo controllo prova controprova",
    "pt": "verificação verificando verifiquemos conferindo prova_real prova",
    "nl": "controle controleren",
    "sv": "kontroll kontrollera",
    "pl": "sprawdzenie sprawdźmy sprawdzamy sprawdzam",
    "cs": "zkouška kontrola ověření",
    "tr": "kontrol sağlama doğrulama",
    "id": "periksa cek pengecekan verifikasi",
    "vi": "kiểm_tra thử_lại",
    "ru": "проверка проверим проверяем",
    "uk": "перевірка перевіримо",
    "ar": "التحقق للتحقق نتحقق",
    "hi": "जाँच जांच सत्यापन",
    "bn": "যাচাই",
    "th": "ตรวจสอบ ตรวจคำตอบ",
    "ja": "検算 確認 確かめ 検証",
    "ko": "검산 확인 검증",
    "zh": "验算 驗算 检验 檢驗 验证 驗證 检查 檢查 核对",
}
"""What the check of an answer begins with."""

REMARKS = {
    "en": "note remark nb n.b. ps p.s. fyi bonus fun_fact side_note by_the_way incidentally"
    " for_reference for_comparison for_context",
    "de": "hinweis anmerkung bemerkung übrigens zum_vergleich",
    "fr": "remarque note nota à_noter pour_info soit_dit_en_passant",
    "es": "nota observación dato por_cierto",
    "it": "nota osservazione per_inciso",
    "pt": "nota observação obs",
    "nl": "opmerking noot",
    "pl": "uwaga",
    "ru": "примечание замечание кстати",
    "tr": "not",
    "vi": "lưu_ý ghi_chú",
    "id": "catatan",
    "ar": "ملاحظة ملحوظة",
    "hi": "नोट टिप्पणी",
    "th": "หมายเหตุ",
    "ja": "注 なお 補足 ちなみに",
    "ko": "참고 참고로",
    "zh": "注 注意 备注 備註 顺便 順便",
}
"""What a remark beside the answer begins with."""

REFUSES = {
    "de": "tut_mir_leid kann_ich_nicht ich_kann_nicht weiß_nicht weiß_ich_nicht",
    "fr": "désolé désolée je_ne_peux_pas je_ne_sais_pas",
    "es": "lo_siento no_puedo no_se_puede no_sé",
    "it": "mi_dispiace non_posso non_so",
    "pt": "desculpe não_posso não_sei não_é_possível",
    "nl": "sorry, ik_kan_niet ik_weet_niet",
    "sv": "tyvärr jag_kan_inte jag_vet_inte",
    "pl": "przepraszam nie_mogę nie_wiem",
    "ru": "извините не_могу не_знаю невозможно",
    "uk": "вибачте не_можу не_знаю",
    "tr": "üzgünüm bilmiyorum",
    "vi": "xin_lỗi không_thể không_biết",
    "id": "maaf tidak_bisa tidak_dapat tidak_tahu",
    "ar": "عذرا عذراً آسف لا_أستطيع لا_يمكن لا_أعرف",
    "hi": "क्षमा_करें माफ़_कीजिए नहीं_बता",
    "th": "ขออภัย ไม่สามารถ ไม่ทราบ",
    "ja": "申し訳 できません 分かりません わかりません",
    "ko": "죄송 할_수_없 알_수_없 모르겠",
    "zh": "抱歉 对不起 對不起 无法 無法 不知道 不能确定",
}
"""What a reply says that cannot answer."""
